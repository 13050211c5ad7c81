package config

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
)

// Find is the configuration of the module that a directory belongs to: the file at the module's root, else the one at
// the root of its workspace. gowork is the GOWORK variable. ok is false when there is none.
func Find(dir, gowork string) (file string, ok bool) {
	module, found := ancestorWith(dir, "go.mod")
	if !found {
		module = dir
	}
	if file := filepath.Join(module, File); isFile(file) {
		return file, true
	}
	if work, ok := workFile(dir, gowork); ok {
		file := filepath.Join(filepath.Dir(work), File)
		return file, isFile(file)
	}
	return "", false
}

// Root is the directory in which the configuration of a directory's module stands: the module's root, or the
// workspace's where the directory is in no module.
func Root(dir, gowork string) (string, bool) {
	if module, ok := ancestorWith(dir, "go.mod"); ok {
		return module, true
	}
	work, ok := workFile(dir, gowork)
	return filepath.Dir(work), ok
}

// Misnamed is a file at the root of the module, or of its workspace, that is meant to be the configuration and is not.
func Misnamed(dir, gowork string) (file string, ok bool) {
	root, ok := Root(dir, gowork)
	if !ok {
		return "", false
	}
	file = filepath.Join(root, misnamed)
	return file, isFile(file)
}

// Others are the configurations of other modules of the workspace than that of dir, for the packages of these.
func Others(dir, gowork string) []string {
	own, _ := ModuleRoot(dir)
	var files []string
	for _, module := range Modules(dir, gowork) {
		if file := filepath.Join(module, File); module != own && isFile(file) {
			files = append(files, file)
		}
	}
	return files
}

// ModuleRoot is the directory of the module that a directory belongs to.
func ModuleRoot(dir string) (string, bool) { return ancestorWith(dir, "go.mod") }

// Modules are the directories of the modules in the workspace that is in force in a directory, if one is.
func Modules(dir, gowork string) []string {
	work, ok := workFile(dir, gowork)
	if !ok {
		return nil
	}
	dirs, _ := usedModules(work) // The go command says what is wrong with it.
	return dirs
}

// Hash adds to h every configuration that a package could have which the go command loads in dir: those of the module
// and of the workspace with all its modules.
func Hash(h io.Writer, dir, gowork string) error {
	roots := []string{dir}
	if module, ok := ancestorWith(dir, "go.mod"); ok {
		roots[0] = module
	}
	if work, ok := workFile(dir, gowork); ok {
		roots = append(roots, filepath.Dir(work))
		used, err := usedModules(work)
		if err != nil {
			return err
		}
		roots = append(roots, used...)
	}
	for i, root := range roots {
		file := filepath.Join(root, File)
		if !isFile(file) {
			continue
		}
		fmt.Fprintf(h, "%s %d\n", File, i)
		if err := hashFile(h, file); err != nil {
			return err
		}
	}
	return nil
}

// usedModules are the directories of a workspace's modules. What the go command cannot read either has none.
func usedModules(work string) ([]string, error) {
	data, err := os.ReadFile(work)
	if err != nil {
		return nil, err
	}
	f, err := modfile.ParseWork(work, data, nil)
	if err != nil {
		return nil, nil
	}
	var dirs []string
	for _, use := range f.Use {
		dir := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(work), dir)
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// workFile is the go.work that is in force in a directory.
func workFile(dir, gowork string) (string, bool) {
	switch gowork {
	case "off":
		return "", false
	case "", "auto":
		root, ok := ancestorWith(dir, "go.work")
		return filepath.Join(root, "go.work"), ok
	}
	return gowork, isFile(gowork)
}

// ancestorWith is the nearest directory, from dir upwards, that holds a file of that name. A directory that
// cannot be looked into holds none, as for the go command.
func ancestorWith(dir, name string) (string, bool) {
	for !isFile(filepath.Join(dir, name)) {
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
	return dir, true
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

func hashFile(h io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(h, f)
	return err
}
