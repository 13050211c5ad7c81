package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/lint"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// sql looks at .sql files alone. What only Go code could show is not asked: whether anything removes old rows.
func (c Command) sql(ctx context.Context, args []string) (int, error) {
	call, err := c.parse(args)
	if err != nil {
		return ExitError, err
	}
	if len(call.patterns) == 1 && call.patterns[0] == "./..." {
		return ExitError, fmt.Errorf("name the files: %s sql migrations/*.sql", rules.Analyzer)
	}
	if o := call.output; o.fix || o.diff || o.baseline != "" || o.newFromRev != "" {
		return ExitError, fmt.Errorf("sql only reports; for -fix, -diff, -baseline and -new-from-rev run it all: %s ./...", rules.Analyzer)
	}
	var files []string
	for _, name := range call.patterns {
		file := absolute(c.Dir, name)
		switch info, err := os.Stat(file); {
		case err != nil:
			return ExitError, fmt.Errorf("no file %s; name .sql files: %s sql migrations/*.sql", name, rules.Analyzer)
		case info.IsDir():
			return ExitError, fmt.Errorf("%s is a directory; name the files in it: %s sql %s/*.sql", name, rules.Analyzer, strings.TrimSuffix(name, "/"))
		case filepath.Ext(file) == ".go":
			return ExitError, fmt.Errorf("%s is a Go file; SQL in Go code is looked at with its package: %s ./...", name, rules.Analyzer)
		}
		files = append(files, file)
	}
	if err := c.configure(call, c.Dir); err != nil {
		return ExitError, err
	}
	found, err := c.Rules.SQL(rules.Module{SQL: files, Read: os.ReadFile})
	if err != nil {
		return ExitError, err
	}
	for i := range found {
		found[i].URL = c.Rules.URL(found[i].Analyzer)
		found[i].Package = filepath.Dir(found[i].Position.File)
		if found[i].End.Line == 0 {
			found[i].End = found[i].Position
		}
	}
	keep := func(finding.Finding) bool { return true }
	if len(call.rules) > 0 {
		if keep, err = c.Rules.Select(call.rules); err != nil {
			return ExitError, err
		}
	}
	r := &run{Command: c, call: call, linter: lint.Linter{Dir: c.Dir}, keep: keep, meter: c.newMeter()}
	return r.conclude(ctx, &lint.Result{Findings: finding.Normalize(found)})
}
