package cli

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/report"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// An output is what is to become of the findings.
type output struct {
	format string // empty is the default
	json   bool
	file   string // empty is standard output
	color  string

	fix, diff bool

	baseline       string
	updateBaseline bool
	newFromRev     string
}

// The values of -color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

// outputFlags adds the flags that fill o.
func outputFlags(fs *flag.FlagSet, o *output) {
	o.color = colorAuto
	fs.BoolVar(&o.json, "json", false, "print x/tools' analysis JSON, with exit status 0 whatever was found")
	fs.Func("format", "print the findings in this `form`: "+strings.Join(formatNames(), ", "), func(s string) error {
		o.format = s
		return oneOf("format", s, formatNames())
	})
	fs.StringVar(&o.file, "o", "", "write to `file` what would be printed on standard output")
	fs.Func("color", "colour text: `when` is auto, always or never; auto is on a terminal, unless NO_COLOR is set", func(s string) error {
		o.color = s
		return oneOf("value", s, []string{colorAuto, colorAlways, colorNever})
	})
	fs.BoolVar(&o.fix, "fix", false, "change the files where a finding has a fix, and print the findings that are left")
	fs.BoolVar(&o.diff, "diff", false, "print the changes that -fix would make, and change nothing")
	fs.StringVar(&o.baseline, "baseline", "", "leave out the findings that are in `file`, and say which of these are gone")
	fs.BoolVar(&o.updateBaseline, "baseline-update", false, "write the file of -baseline anew, with the findings of now")
	fs.StringVar(&o.newFromRev, "new-from-rev", "", "print only findings on lines that the git `revision` does not have, by their own place or a related one")
}

func formatNames() []string {
	var names []string
	for _, f := range report.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// oneOf is the error for a word that is none of the names; it says which is meant.
func oneOf(what, word string, names []string) error {
	if slices.Contains(names, word) {
		return nil
	}
	if near, ok := rules.Nearest(word, names); ok {
		return fmt.Errorf("no such %s; did you mean %s?", what, near)
	}
	return fmt.Errorf("no such %s; there are %s", what, strings.Join(names, ", "))
}

// check finds what does not go together. chosen tells whether rules were chosen with -rules, dir is the current
// directory.
func (o *output) check(dir string, chosen bool) error {
	switch {
	case o.json && o.format != "" && o.format != "json":
		return fmt.Errorf("-json and -format %s: choose one of them", o.format)
	case o.fix && o.diff:
		return fmt.Errorf("-fix changes files and -diff only shows how: choose one of them")
	case o.diff && (o.json || o.format != ""):
		return fmt.Errorf("-diff prints changes and no findings: leave out -format and -json")
	case o.updateBaseline && o.baseline == "":
		return fmt.Errorf("-baseline-update writes the file of -baseline: %s -baseline FILE -baseline-update", rules.Analyzer)
	case o.updateBaseline && (o.fix || o.diff):
		return fmt.Errorf("-baseline-update keeps findings as they are: leave out -fix and -diff, or run them first")
	case o.updateBaseline && (chosen || o.newFromRev != ""):
		return fmt.Errorf("a baseline is of all findings: with -baseline-update leave out -rules and -new-from-rev")
	}
	if o.file == "-" {
		o.file = "" // standard output, as other commands understand it
	}
	for _, f := range []struct{ flag, name string }{{"-o", o.file}, {"-baseline", o.baseline}} {
		if f.name == "" {
			continue
		}
		path := absolute(dir, f.name)
		if isDir(path) {
			return fmt.Errorf("%s %s: that is a directory; name a file", f.flag, f.name)
		}
		if up := filepath.Dir(path); !isDir(up) {
			return fmt.Errorf("%s %s: no directory %s", f.flag, f.name, up)
		}
	}
	return nil
}

// rendering is the format that was asked for.
func (o *output) rendering() report.Format {
	all := report.Formats()
	name := o.format
	if o.json {
		name = "json"
	}
	for _, f := range all {
		if f.Name == name {
			return f
		}
	}
	return all[0]
}

func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}
