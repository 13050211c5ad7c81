package cli

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/lint"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// A call is what a command line asks for.
type call struct {
	dir           string
	config        string // the configuration file, or off
	output        output
	rules         []string
	buildFlags    []string // for the go command
	analyzerFlags []string // for the tool
	settings      []lint.Setting
	patterns      []string
}

// buildFlags are the go command's own that decide what is loaded. The others can be given in GOFLAGS.
var buildFlags = []struct{ name, usage string }{
	{"tags", "comma-separated `list` of build tags, as for go build"},
	{"mod", "module download `mode`, as for go build: readonly, vendor, mod"},
	{"modfile", "`file` to read in place of go.mod, as for go build"},
}

// flags are the command's flags; parsing them fills call.
func (c Command) flags(call *call) *flag.FlagSet {
	fs := flag.NewFlagSet(rules.Analyzer, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	fs.StringVar(&call.dir, "C", "", "work in `dir`")
	fs.StringVar(&call.config, "config", "", "read this `file` instead of the module's "+config.File+"; off reads none")
	outputFlags(fs, &call.output)
	fs.Func("rules", "report only these: a comma-separated `list` of rule ids (R-KFK-IDEM-X1, or X1) and analyzer names", func(s string) error {
		for word := range strings.SplitSeq(s, ",") {
			if word = strings.TrimSpace(word); word != "" {
				call.rules = append(call.rules, word)
			}
		}
		if len(call.rules) == 0 {
			return fmt.Errorf("no rule in the list; the rules are %s", strings.Join(c.Rules.Names(), ", "))
		}
		return nil
	})
	for _, f := range buildFlags {
		fs.Func(f.name, f.usage, func(value string) error {
			call.buildFlags = append(call.buildFlags, "-"+f.name+"="+value)
			return nil
		})
	}
	c.options(fs, call)
	c.analyzerFlags(fs, call)
	return fs
}

// analyzerFlags adds every analyzer's flags as -analyzer.flag. A value is set on the analyzer in this process too,
// so that a wrong one is a wrong call and not a failed package, and so that the reduce step knows it.
func (c Command) analyzerFlags(fs *flag.FlagSet, call *call) {
	for _, a := range c.Rules.Analyzers {
		a.Flags.VisitAll(func(f *flag.Flag) {
			if a.Name == rules.Analyzer && f.Name == rules.Index {
				return
			}
			passOn(fs, call, f, a.Name+"."+f.Name, a.Name)
		})
	}
}

// options adds the options that all analyzers share under their plain names.
func (c Command) options(fs *flag.FlagSet, call *call) {
	for _, f := range c.Rules.Options() {
		passOn(fs, call, f, f.Name, rules.Analyzer)
	}
}

// passOn adds a flag under a name: its value is set here and handed to the tool.
func passOn(fs *flag.FlagSet, call *call, f *flag.Flag, name, analyzer string) {
	set := func(value string) error {
		if err := f.Value.Set(value); err != nil {
			return err
		}
		call.analyzerFlags = append(call.analyzerFlags, "-"+analyzer+"."+f.Name+"="+value)
		return nil
	}
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		fs.BoolFunc(name, f.Usage, set)
	} else {
		fs.Func(name, f.Usage, set)
	}
}

// parse reads a command line. The error of a wrong one says the right one.
func (c Command) parse(args []string) (*call, error) {
	call := new(call)
	fs := c.flags(call)
	if name, ok := undefined(fs, args); ok {
		return nil, c.unknownFlag(fs, name)
	}
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	call.patterns = fs.Args()
	for i, pattern := range call.patterns {
		if strings.HasPrefix(pattern, "-") {
			return nil, fmt.Errorf("flags go before the packages: %s %s %s", rules.Analyzer,
				strings.Join(call.patterns[i:], " "), strings.Join(call.patterns[:i], " "))
		}
	}
	if err := call.output.check(c.Dir, len(call.rules) > 0); err != nil {
		return nil, err
	}
	if len(call.patterns) == 0 {
		call.patterns = []string{"./..."}
	}
	return call, nil
}

// undefined is the first flag in args that fs does not have.
func undefined(fs *flag.FlagSet, args []string) (string, bool) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
		if arg == name || name == "" {
			return "", false // The packages begin.
		}
		name, _, hasValue := strings.Cut(name, "=")
		if name == "h" || name == "help" {
			return "", false
		}
		f := fs.Lookup(name)
		if f == nil {
			return name, true
		}
		b, ok := f.Value.(interface{ IsBoolFlag() bool })
		if !hasValue && !(ok && b.IsBoolFlag()) && len(args) > 0 {
			args = args[1:]
		}
	}
	return "", false
}

func (c Command) unknownFlag(fs *flag.FlagSet, name string) error {
	if slices.Contains(c.Rules.Names(), name) {
		return fmt.Errorf("unknown flag -%s; to choose a rule: %s -rules %s", name, rules.Analyzer, name)
	}
	if slices.Contains(formatNames(), name) {
		return fmt.Errorf("unknown flag -%s; to choose a format: %s -format %s", name, rules.Analyzer, name)
	}
	if name == "V" || name == "version" {
		return fmt.Errorf("unknown flag -%s; try %s version", name, rules.Analyzer)
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	if near, ok := rules.Nearest(name, names); ok {
		return fmt.Errorf("unknown flag -%s; did you mean -%s?", name, near)
	}
	return fmt.Errorf("unknown flag -%s; %s help lists them", name, rules.Analyzer)
}
