package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/baseline"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/changes"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/fix"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/lint"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/report"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// A run is a call that has been answered: what is left is to choose among the findings, and to show or fix them.
type run struct {
	Command
	call   *call
	linter lint.Linter
	keep   func(finding.Finding) bool // of -rules
	meter  *meter

	lines *changes.Lines // of -new-from-rev
	known int            // findings that the baseline has
	stale []baseline.Entry
}

// conclude does with a result what the call asks for, and chooses the exit status.
func (r *run) conclude(ctx context.Context, result *lint.Result) (int, error) {
	out := &r.call.output
	if out.updateBaseline {
		r.meter.stop()
		return r.updateBaseline(ctx, result)
	}
	if err := r.choose(ctx, result); err != nil {
		return ExitError, err
	}
	if out.fix || out.diff {
		plan, err := r.plan(ctx, result.Findings)
		if err != nil {
			return ExitError, err
		}
		if out.diff {
			r.meter.stop()
			return r.diff(result, plan)
		}
		if result, err = r.fix(ctx, result, plan); err != nil {
			return ExitError, err
		}
	}
	r.meter.stop()
	return r.print(result)
}

// choose leaves the findings that the call asks for.
func (r *run) choose(ctx context.Context, result *lint.Result) error {
	result.Findings = slices.DeleteFunc(result.Findings, func(f finding.Finding) bool { return !r.keep(f) })
	if err := r.withoutKnown(ctx, result); err != nil {
		return err
	}
	rev := r.call.output.newFromRev
	if rev == "" {
		return nil
	}
	if r.lines == nil {
		lines, err := changes.Since(ctx, r.linter.Dir, rev)
		if errors.Is(err, changes.ErrNoRepository) {
			return fmt.Errorf("-new-from-rev %s: %w; where there is no git, -baseline tells what is new", rev, err)
		}
		if err != nil {
			return fmt.Errorf("-new-from-rev %s: %w", rev, err)
		}
		r.lines = lines
	}
	// golangci-lint, which reports a related place as an issue of its own, keeps that one when its line is new.
	result.Findings = slices.DeleteFunc(result.Findings, func(f finding.Finding) bool {
		return !r.lines.Has(f.Position.File, f.Position.Line) &&
			!slices.ContainsFunc(f.Related, func(rel finding.Related) bool { return r.lines.Has(rel.Position.File, rel.Position.Line) })
	})
	return nil
}

// withoutKnown takes out what the baseline knows, and notes which of its entries are stale: the package was analysed, or
// is gone, and the finding is not there.
func (r *run) withoutKnown(ctx context.Context, result *lint.Result) error {
	name := r.call.output.baseline
	if name == "" {
		return nil
	}
	base, err := baseline.Read(absolute(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no baseline %s; to write it: %s -baseline %s -baseline-update %s", name, rules.Analyzer, name,
			strings.Join(r.call.patterns, " "))
	}
	if err != nil {
		return err
	}
	fresh, stale := base.New(result.Findings)
	r.known, r.stale = len(result.Findings)-len(fresh), nil
	result.Findings = fresh
	if len(r.call.rules) > 0 {
		return nil // What was not looked for is not gone.
	}
	judged, err := r.judged(ctx, result, stale)
	if err != nil {
		return err
	}
	for _, e := range stale {
		if judged(e) {
			r.stale = append(r.stale, e)
		}
	}
	return nil
}

// judged tells of which entries this run can say whether they are there still.
func (r *run) judged(ctx context.Context, result *lint.Result, entries []baseline.Entry) (func(baseline.Entry) bool, error) {
	var elsewhere []string
	for _, e := range entries {
		if !result.Packages[e.Package] {
			elsewhere = append(elsewhere, e.Package)
		}
	}
	slices.Sort(elsewhere)
	gone, err := r.linter.Gone(ctx, slices.Compact(elsewhere))
	if err != nil {
		return nil, err
	}
	return func(e baseline.Entry) bool { return result.Packages[e.Package] || gone[e.Package] }, nil
}

// updateBaseline writes the findings into the baseline. Entries of packages that were not named stay.
func (r *run) updateBaseline(ctx context.Context, result *lint.Result) (int, error) {
	name := r.call.output.baseline
	if len(result.Failures)+len(result.Broken) > 0 {
		r.complain(result)
		return ExitError, fmt.Errorf("the baseline %s stays as it is, since not everything could be analysed", name)
	}
	old, err := baseline.ReadIfThere(absolute(r.Dir, name))
	if err != nil {
		return ExitError, err
	}
	judged, err := r.judged(ctx, result, old.Entries)
	if err != nil {
		return ExitError, err
	}
	base := baseline.Of(result.Findings).With(old, func(e baseline.Entry) bool { return !judged(e) })
	if err := base.Write(absolute(r.Dir, name)); err != nil {
		return ExitError, err
	}
	total := 0
	for _, e := range base.Entries {
		total += e.Count
	}
	fmt.Fprintf(r.Stderr, "%s: %s in the baseline %s\n", rules.Analyzer, count(total, "finding"), name)
	return ExitClean, nil
}

// plan works out the fixes.
func (r *run) plan(ctx context.Context, findings []finding.Finding) (*fix.Plan, error) {
	foreign, err := r.linter.Foreign(ctx)
	if err != nil {
		return nil, err
	}
	return fix.New(ctx, findings, fix.Options{
		Foreign: foreign,
		Compile: func(ctx context.Context, contents map[string][]byte) (map[string]string, error) {
			return r.linter.Uncompiled(ctx, r.call.patterns, contents)
		},
	})
}

// diff shows what the plan would change.
func (r *run) diff(result *lint.Result, plan *fix.Plan) (int, error) {
	var out bytes.Buffer
	if err := plan.Diff(&out, r.Dir); err != nil {
		return ExitError, err
	}
	if err := r.deliver(out.Bytes()); err != nil {
		return ExitError, err
	}
	r.sayPlan(plan, "have a fix", "has a fix")
	return r.status(result), nil
}

// fix makes the changes, and looks again.
func (r *run) fix(ctx context.Context, result *lint.Result, plan *fix.Plan) (*lint.Result, error) {
	if err := plan.Write(); err != nil {
		return nil, err
	}
	r.sayPlan(plan, "fixed", "fixed")
	if len(plan.Files) == 0 {
		return result, nil
	}
	result, err := r.linter.Run(ctx, r.call.patterns)
	if err != nil {
		return nil, fmt.Errorf("looking again after the fixes: %w", err)
	}
	return result, r.choose(ctx, result)
}

// sayPlan says how many findings a plan is about, and what it leaves alone.
func (r *run) sayPlan(plan *fix.Plan, many, one string) {
	for _, s := range plan.Skipped {
		fmt.Fprintf(r.meter, "%s: not fixed: %s: %s\n", rules.Analyzer, report.Place(r.Dir, s.Finding.Position), s.Reason)
	}
	verb := many
	if plan.Fixed == 1 {
		verb = one
	}
	if plan.Fixed > 0 {
		fmt.Fprintf(r.meter, "%s: %s %s, in %s\n", rules.Analyzer, count(plan.Fixed, "finding"), verb, count(len(plan.Files), "file"))
	} else {
		fmt.Fprintf(r.meter, "%s: no finding %s\n", rules.Analyzer, one)
	}
}

// print writes the findings in the format that was asked for.
func (r *run) print(result *lint.Result) (int, error) {
	rep, err := r.report(result)
	if err != nil {
		return ExitError, err
	}
	var out bytes.Buffer
	if err := r.call.output.rendering().Write(&out, rep); err != nil {
		return ExitError, err
	}
	if err := r.deliver(out.Bytes()); err != nil {
		return ExitError, err
	}
	r.complain(result)
	for _, e := range r.stale {
		in := e.Package
		if e.Function != "" {
			in += "." + e.Function
		}
		fmt.Fprintf(r.Stderr, "%s: stale in the baseline: %s in %s: %s (%d)\n", rules.Analyzer, e.Rule, in, e.Message, e.Count)
	}
	if len(r.stale) > 0 {
		fmt.Fprintf(r.Stderr, "%s: these are gone; to take them out of the baseline: -baseline-update\n", rules.Analyzer)
	}
	if len(result.Failures)+len(result.Broken) == 0 && len(result.Findings) > 0 && !r.call.output.json {
		in := make(map[string]bool)
		for _, f := range result.Findings {
			in[f.Package] = true
		}
		more := ""
		if r.known > 0 {
			more = fmt.Sprintf("; %d more in the baseline", r.known)
		}
		fmt.Fprintf(r.Stderr, "%s: %s in %s%s\n", rules.Analyzer, count(len(result.Findings), "finding"), count(len(in), "package"), more)
	}
	if len(result.Failures)+len(result.Broken)+len(result.Findings) == 0 && isTerminal(r.Stderr) {
		return ExitClean, r.sayClean(result)
	}
	return r.status(result), nil
}

// sayClean says to a person what was looked at, so that nothing found is not taken for nothing looked at.
func (r *run) sayClean(result *lint.Result) error {
	handlers, err := r.linter.HandlersOf(result)
	if err != nil {
		return err
	}
	nothing, hint := "nothing found", ""
	if r.known > 0 || r.lines != nil {
		nothing = "nothing new"
	}
	if r.known > 0 {
		hint = fmt.Sprintf("; %s in the baseline", count(r.known, "finding"))
	}
	if len(handlers) == 0 {
		hint += "; where a client of your own brings the messages, it is named in " + config.File + " (" + rules.Analyzer + " init)"
	}
	fmt.Fprintf(r.Stderr, "%s: %s in %s with %s%s\n", rules.Analyzer, nothing, count(len(result.Packages), "package"), count(len(handlers), "handler"), hint)
	return nil
}

// report is what the formats render.
func (r *run) report(result *lint.Result) (*report.Report, error) {
	rep := &report.Report{
		Findings: result.Findings,
		Broken:   result.Broken,
		Base:     r.Dir,
		Root:     repository(r.linter.Dir, r.Dir),
		Version:  version(),
		Color:    r.colored(),
	}
	if r.Rules.Pages != nil {
		var err error
		if rep.Pages, err = r.Rules.Pages(); err != nil {
			return nil, fmt.Errorf("reading the pages of the rules: %w", err)
		}
	}
	for _, f := range result.Broken {
		rep.Problems = append(rep.Problems, report.Problem{Message: f.Cause})
	}
	for _, f := range result.Failures {
		rep.Problems = append(rep.Problems, report.Problem{Position: f.Position, Message: "package " + f.Package + " " + f.Reason + ": " + f.Cause})
	}
	return rep, nil
}

// repository is the root of the git repository that dir is in, else other.
func repository(dir, other string) string {
	for up := dir; ; up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, ".git")); err == nil {
			return up
		}
		if up == filepath.Dir(up) {
			return other
		}
	}
}

func (r *run) colored() bool {
	switch out := r.call.output; out.color {
	case colorAlways:
		return true
	case colorNever:
		return false
	default:
		return out.file == "" && r.getenv("NO_COLOR") == "" && r.getenv("TERM") != "dumb" && isTerminal(r.Stdout)
	}
}

// deliver writes to standard output, or to the file that was named in its place.
func (r *run) deliver(data []byte) error {
	name := r.call.output.file
	if name == "" {
		if _, err := r.Stdout.Write(data); err != nil {
			return fmt.Errorf("writing to standard output: %w", err)
		}
		return nil
	}
	if err := os.WriteFile(absolute(r.Dir, name), data, 0o644); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

// complain says what could not be analysed.
func (r *run) complain(result *lint.Result) {
	for _, f := range result.Broken {
		fmt.Fprintf(r.Stderr, "%s: %s\n", rules.Analyzer, f.Cause)
	}
	for _, f := range result.Failures {
		cause := f.Cause
		if f.Position.Line > 0 {
			cause = report.Place(r.Dir, f.Position) + ": " + cause
		}
		fmt.Fprintf(r.Stderr, "%s: package %s %s: %s\n", rules.Analyzer, f.Package, f.Reason, cause)
	}
}

// status is the exit status of a result.
func (r *run) status(result *lint.Result) int {
	switch {
	case len(result.Failures)+len(result.Broken) > 0:
		return ExitError
	case len(result.Findings) > 0 && !r.call.output.json:
		return ExitFindings
	}
	return ExitClean
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
