package cli

import (
	"context"
	"fmt"
	"go/build"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/lint"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// configure reads the configuration that is in force in dir. Packages of the workspace go by their own module's file, else
// by the workspace's, which the tool reads as it does for go vet; those of other modules go by the one that is in force in
// dir. A file that is named goes for all: its settings are handed to the tool as flags, since the go command keeps results
// under these. A list adds to what the command line says; true and false give way.
func (c Command) configure(call *call, dir string) error {
	given := slices.Clone(call.analyzerFlags)
	call.note("", flagSettings(given))
	off := "-" + rules.Analyzer + "." + rules.Config + "=" + config.Off
	switch call.config {
	case config.Off:
		call.analyzerFlags = append(call.analyzerFlags, off)
		return nil
	case "":
		if err := c.checkOthers(call, dir); err != nil {
			return err
		}
		file, ok := config.Find(dir, os.Getenv("GOWORK"))
		if !ok {
			if file, ok := config.Misnamed(dir, os.Getenv("GOWORK")); ok {
				return config.ErrMisnamed(c.relative(file))
			}
			return nil
		}
		settings, err := config.Read(file, c.relative(file), c.Rules.Options())
		if err != nil {
			return err
		}
		call.note(c.relative(file), settings)
		call.analyzerFlags = append(call.analyzerFlags, "-"+rules.Analyzer+"."+rules.Base+"="+file)
		return c.again(given)
	}
	file := absolute(c.Dir, call.config)
	if info, err := os.Stat(file); err != nil || info.IsDir() {
		return fmt.Errorf("-config %s: no such file; %s init writes one", call.config, rules.Analyzer)
	}
	settings, err := config.Read(file, c.relative(file), c.Rules.Options())
	if err != nil {
		return err
	}
	call.note(c.relative(file), settings)
	for _, s := range settings {
		if !s.Bool || !setBy(given, s.Name) {
			call.analyzerFlags = append(call.analyzerFlags, "-"+rules.Analyzer+"."+s.Name+"="+s.Value)
		}
	}
	call.analyzerFlags = append(call.analyzerFlags, off)
	return c.again(given)
}

// note keeps settings of a file, or of the command line, until it is known what they name.
func (call *call) note(file string, settings []config.Setting) {
	for _, s := range settings {
		where := "-" + s.Name
		if file != "" {
			where = fmt.Sprintf("%s:%d: %s", file, s.Line, s.Name)
		}
		for value := range strings.SplitSeq(s.Value, ",") {
			if value = strings.TrimSpace(value); value != "" {
				call.settings = append(call.settings, lint.Setting{Where: where, Option: s.Name, Value: value})
			}
		}
	}
}

// flagSettings are the settings among the tool's flags.
func flagSettings(flags []string) []config.Setting {
	var settings []config.Setting
	for _, f := range flags {
		name, value, _ := strings.Cut(f, "=")
		_, name, _ = strings.Cut(name, ".")
		settings = append(settings, config.Setting{Name: name, Value: value})
	}
	return settings
}

// sayStrays names the settings that name nothing. That is no fault of the code, and changes no exit status. Where it cannot
// be found out nothing is said.
func (c Command) sayStrays(ctx context.Context, call *call, linter lint.Linter, result *lint.Result, out io.Writer) {
	strays, err := linter.Strays(ctx, result, call.settings)
	if err != nil {
		return
	}
	for _, s := range strays {
		hint := ""
		if s.Near != "" {
			hint = "; did you mean " + s.Near + "?"
		}
		fmt.Fprintf(out, "%s: %s: %s names nothing: %s%s\n", rules.Analyzer, s.Where, s.Value, s.Fault, hint)
	}
}

// checkOthers reads the configurations of other modules of the workspace that are looked at: for their faults, and for what
// their settings name.
func (c Command) checkOthers(call *call, dir string) error {
	for _, file := range config.Others(dir, os.Getenv("GOWORK")) {
		module := filepath.Dir(file)
		if !slices.ContainsFunc(call.patterns, func(p string) bool { return isBelow(module, dir, p) }) {
			continue
		}
		settings, err := config.Parse(file, c.relative(file), c.Rules.Options())
		if err != nil {
			return err
		}
		call.note(c.relative(file), settings)
	}
	return nil
}

// isBelow reports whether a pattern names a directory in a module. An import path does not say where it is.
func isBelow(module, dir, pattern string) bool {
	if !build.IsLocalImport(pattern) && !filepath.IsAbs(pattern) {
		return false
	}
	named, _, _ := strings.Cut(pattern, "...")
	rel, err := filepath.Rel(module, absolute(dir, named))
	return err == nil && filepath.IsLocal(rel)
}

// again sets flags in this process that the configuration may have set to something else.
func (c Command) again(flags []string) error {
	for _, arg := range flags {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		analyzer, name, _ := strings.Cut(name, ".")
		for _, a := range c.Rules.Analyzers {
			if f := a.Flags.Lookup(name); a.Name == analyzer && f != nil {
				if err := f.Value.Set(value); err != nil {
					return fmt.Errorf("%s: %w", arg, err)
				}
			}
		}
	}
	return nil
}

// setBy reports whether one of the flags sets an option, on whichever analyzer.
func setBy(flags []string, option string) bool {
	return slices.ContainsFunc(flags, func(f string) bool { return strings.Contains(f, "."+option+"=") })
}

// relative is a file as seen from the current directory, where that is shorter.
func (c Command) relative(file string) string {
	if rel, err := filepath.Rel(c.Dir, file); err == nil && len(rel) < len(file) {
		return rel
	}
	return file
}
