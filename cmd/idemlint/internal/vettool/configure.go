package vettool

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// offFlag is the flag by which no configuration is looked for: the stand-alone command has read one, or none is wanted. It
// takes no file: the go command keeps results without looking at one, unless it is where [config.Hash] looks.
type offFlag struct{ off bool }

func (f *offFlag) String() string {
	if f.off {
		return config.Off
	}
	return ""
}

func (f *offFlag) Set(s string) error {
	if s != config.Off {
		return errors.New("go vet would not notice when that file changes; name it " + config.File +
			" and put it at the root of the module, or run idemlint -config by itself")
	}
	f.off = true
	return nil
}

// source says where the options of a unit come from.
type source struct {
	off  offFlag
	base string // the file of the packages of others' modules; one where [config.Hash] looks
}

// configFlags adds the flags that fill a source.
func configFlags(set rules.Set) *source {
	s := new(source)
	for _, a := range set.Analyzers {
		if a.Name == rules.Analyzer && a.Flags.Lookup(rules.Config) == nil {
			a.Flags.Var(&s.off, rules.Config, "`off`: do not look for "+config.File)
			a.Flags.StringVar(&s.base, rules.Base, "", "the configuration `file` by which dependencies go that are in no module of the workspace (for the stand-alone command)")
		}
	}
	return s
}

// configure sets the options, from the configuration of the unit's module and from the flags in args. It goes before
// the early exit, for they say which packages matter; the flags are set again when unitchecker parses them. The go
// command runs its tool in the directory of the unit's package. A dependency's own file is for those who work on it: what it
// says, or that it is faulty, is nothing to its users.
func configure(set rules.Set, args []string, from *source, u *unitConfig) error {
	for _, arg := range args {
		name, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		analyzer, name, dotted := strings.Cut(name, ".")
		if !ok || !dotted || !strings.HasPrefix(arg, "-") {
			continue
		}
		for _, a := range set.Analyzers {
			if f := a.Flags.Lookup(name); a.Name == analyzer && f != nil {
				if err := f.Value.Set(value); err != nil {
					return fmt.Errorf("%s: %w", arg, err)
				}
			}
		}
	}
	if from.off.off {
		return nil
	}
	if u.ModuleVersion != "" {
		return from.readBase(set)
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current directory: %w", err)
	}
	if root, ok := config.ModuleRoot(dir); ok && set.Own != nil {
		set.Own(root)
	}
	if file, ok := config.Find(dir, os.Getenv("GOWORK")); ok {
		_, err := config.Read(file, file, set.Options())
		return err
	}
	if file, ok := config.Misnamed(dir, os.Getenv("GOWORK")); ok {
		return config.ErrMisnamed(file)
	}
	return nil
}

// readBase sets the options of a package of another's module.
func (s *source) readBase(set rules.Set) error {
	if s.base == "" {
		return nil
	}
	_, err := config.Read(s.base, s.base, set.Options())
	return err
}
