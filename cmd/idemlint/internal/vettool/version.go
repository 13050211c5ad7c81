package vettool

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

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
	if err := config.Hash(h, dir, os.Getenv("GOWORK")); err != nil {
		return fmt.Errorf("hashing the configuration: %w", err)
	}
	_, err = fmt.Fprintf(w, "%s version devel analyzers-and-configuration buildID=%x\n", rules.Analyzer, h.Sum(nil))
	return err
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
