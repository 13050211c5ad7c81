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

// ModuleRoot is the directory of the module that a directory belongs to.
func ModuleRoot(dir string) (string, bool) { return ancestorWith(dir, "go.mod") }

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
