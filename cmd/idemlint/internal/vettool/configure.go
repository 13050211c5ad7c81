package vettool

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// offFlag is the flag by which the stand-alone command says that it has read the configuration. It takes no file: the go command keeps results without looking at one, unless it is where [config.Hash] looks.
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

// configFlag adds the flag.
func configFlag(set rules.Set) *offFlag {
	off := new(offFlag)
	for _, a := range set.Analyzers {
		if a.Name == rules.Analyzer && a.Flags.Lookup(rules.Config) == nil {
			a.Flags.Var(off, rules.Config, "`off`: do not look for "+config.File)
		}
	}
	return off
}

// configure sets the options, from the configuration of the unit's module and from the flags in args. It goes before
// the early exit, for they say which packages matter; the flags are set again when unitchecker parses them. The go
// command runs its tool in the directory of the unit's package. A dependency's own file is for those who work on it: what it
// says, or that it is faulty, is nothing to its users.
func configure(set rules.Set, args []string, unread *offFlag, u *unitConfig) error {
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
	if unread.off || u.ModuleVersion != "" {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current directory: %w", err)
	}
	if file, ok := config.Find(dir, os.Getenv("GOWORK")); ok {
		if _, err := config.Read(file, file, set.Options()); err != nil {
			return err
		}
	} else if file, ok := config.Misnamed(dir, os.Getenv("GOWORK")); ok {
		return config.ErrMisnamed(file)
	}
	return nil
}
