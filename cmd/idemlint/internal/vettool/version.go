package vettool

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// ConfigFile is the name of the configuration file.
const ConfigFile = ".idemlint.yml"

// printVersion answers -V=full. The go command keeps a tool's results under the build id in the answer, and looks
// at no file but the package's own; so the id covers this binary and the configuration, and a changed
// configuration is a changed tool.
func printVersion(w io.Writer) error {
	h := sha256.New()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this binary: %w", err)
	}
	if err := hashFile(h, self); err != nil {
		return fmt.Errorf("hashing this binary: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current directory: %w", err)
	}
	if err := hashConfig(h, dir, os.Getenv("GOWORK")); err != nil {
		return fmt.Errorf("hashing the configuration: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s version devel analyzers-and-configuration buildID=%x\n", rules.Analyzer, h.Sum(nil))
	return err
}

// hashConfig adds to h every configuration file from dir up to the root of its module or workspace, each with its
// distance from dir. gowork is the GOWORK variable.
func hashConfig(h io.Writer, dir, gowork string) error {
	root := configRoot(dir, gowork)
	for up := 0; ; up++ {
		file := filepath.Join(dir, ConfigFile)
		if isFile(file) {
			fmt.Fprintf(h, "%s %d\n", ConfigFile, up)
			if err := hashFile(h, file); err != nil {
				return err
			}
		}
		if dir == root || dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// configRoot is the workspace's directory, else the module's, else dir.
func configRoot(dir, gowork string) string {
	if work, ok := ancestorWith(dir, "go.work"); ok && gowork != "off" {
		return work
	}
	if module, ok := ancestorWith(dir, "go.mod"); ok {
		return module
	}
	return dir
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
