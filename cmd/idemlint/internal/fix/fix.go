// Package fix applies the fixes that findings suggest: as many as go together, each as a whole or not at all, and none
// that leaves a file behind that cannot be formatted or a package that does not compile. It knows no rule.
package fix

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

// A Plan is the changes to be made. Nothing is written before [Plan.Write].
type Plan struct {
	Files   []File    // sorted by name
	Fixed   int       // findings whose fix is in Files
	Skipped []Skipped // findings whose fix is not, in their order
}

// A File is a file that changes.
type File struct {
	Name          string
	Before, After []byte
}

// A Skipped is a fix that is not made.
type Skipped struct {
	Finding finding.Finding
	Reason  string
}

// Options are what a plan needs to know of the world.
type Options struct {
	// Compile tells what no longer compiles.
	Compile Compiler

	// Foreign tells files that are not the user's to change, such as those of the module cache.
	Foreign func(name string) bool
}

// A Compiler returns the packages that do not compile, with the first error of each, when files have the given contents.
type Compiler func(ctx context.Context, contents map[string][]byte) (map[string]string, error)

// New plans the fixes of the findings: of each the first that is suggested, since others are alternatives. Of fixes that
// overlap the first in order stays; the same edit suggested twice is made once. A file that does not format with its
// fixes, or with which a package no longer compiles, is left alone, with all fixes that are partly in it.
func New(ctx context.Context, findings []finding.Finding, opts Options) (*Plan, error) {
	p := &planner{Options: opts, read: make(map[string]*source), refused: make(map[string]string), reason: make(map[int]string)}
	for _, f := range findings {
		if len(f.Fixes) > 0 {
			p.findings = append(p.findings, f)
		}
	}
	if len(p.findings) == 0 {
		return new(Plan), nil
	}
	if err := p.readAll(); err != nil {
		return nil, err
	}
	files := p.build()
	if len(files) > 0 {
		var err error
		if files, err = p.compiling(ctx, files); err != nil {
			return nil, err
		}
	}
	plan := &Plan{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		plan.Files = append(plan.Files, File{Name: name, Before: p.read[name].data, After: files[name]})
	}
	for i, f := range p.findings {
		if why, skipped := p.reason[i]; skipped {
			plan.Skipped = append(plan.Skipped, Skipped{f, why})
		} else {
			plan.Fixed++
		}
	}
	return plan, nil
}

// Write writes the files, each with the permissions that it has. A file that has changed since it was read is an error;
// those before it in order are written.
func (p *Plan) Write() error {
	for _, f := range p.Files {
		if err := f.write(); err != nil {
			return fmt.Errorf("applying fixes: %w", err)
		}
	}
	return nil
}

func (f File) write() error {
	info, err := os.Stat(f.Name)
	if err != nil {
		return err
	}
	now, err := os.ReadFile(f.Name)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, f.Before) {
		return fmt.Errorf("%s changed meanwhile; run again", f.Name)
	}
	return os.WriteFile(f.Name, f.After, info.Mode().Perm())
}

// A planner works out which fixes go together.
type planner struct {
	Options
	findings []finding.Finding // those with a fix
	read     map[string]*source
	refused  map[string]string // file to the reason why it is left alone
	reason   map[int]string    // index in findings to the reason why its fix is not made
}

type source struct {
	data      []byte
	formatted bool
}

// readAll reads the files that fixes are in, and refuses those that are not for a tool to change.
func (p *planner) readAll() error {
	for _, f := range p.findings {
		for _, e := range f.Fixes[0].Edits {
			if p.read[e.Filename] != nil {
				continue
			}
			data, err := os.ReadFile(e.Filename)
			if err != nil {
				return fmt.Errorf("reading a file to fix: %w", err)
			}
			s := &source{data: data}
			p.read[e.Filename] = s
			switch generated, err := isGenerated(e.Filename, data); {
			case p.Foreign(e.Filename):
				p.refused[e.Filename] = "it belongs to a dependency"
			case filepath.Ext(e.Filename) != ".go":
				p.refused[e.Filename] = "it is no Go file"
			case err != nil:
				p.refused[e.Filename] = "it does not parse: " + err.Error()
			case generated:
				p.refused[e.Filename] = "it is generated: change what it is generated from"
			default:
				out, err := format.Source(data)
				s.formatted = err == nil && bytes.Equal(out, data)
			}
		}
	}
	return nil
}

func isGenerated(name string, data []byte) (bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		return false, err
	}
	return ast.IsGenerated(file), nil
}

// build is the files with all fixes in them that go together and leave files that can be formatted. It settles for each
// fix whether it is one of these.
func (p *planner) build() map[string][]byte {
	for {
		clear(p.reason)
		files, bad := p.apply()
		if bad == "" {
			return files
		}
	}
}

// apply makes the edits of the fixes in the files that are not refused. Of a file that cannot be formatted then it
// returns the name, and refuses it from now on.
func (p *planner) apply() (files map[string][]byte, bad string) {
	edits := make(map[string][]finding.Edit)
	for i, f := range p.findings {
		p.add(edits, i, f.Fixes[0])
	}
	files = make(map[string][]byte)
	for _, name := range slices.Sorted(maps.Keys(edits)) {
		s := p.read[name]
		out := edited(s.data, edits[name])
		pretty, err := format.Source(out)
		if err != nil {
			p.refused[name] = "it would not format afterwards: " + err.Error()
			return nil, name
		}
		if s.formatted {
			out = pretty
		}
		if !bytes.Equal(out, s.data) {
			files[name] = out
		}
	}
	return files, ""
}

// add adds the edits of a fix, or none of them and a reason.
func (p *planner) add(edits map[string][]finding.Edit, i int, fix finding.Fix) {
	changed := make(map[string][]finding.Edit)
	for _, e := range fix.Edits {
		if why := p.refused[e.Filename]; why != "" {
			p.reason[i] = why
			return
		}
		list, ok := changed[e.Filename]
		if !ok {
			list = slices.Clone(edits[e.Filename])
		}
		merged, err := insert(list, e, len(p.read[e.Filename].data))
		if err != nil {
			p.reason[i] = err.Error()
			return
		}
		changed[e.Filename] = merged
	}
	maps.Copy(edits, changed)
}

var (
	errOverlap = errors.New("it overlaps with another fix: run again for this one")
	errOutside = errors.New("the file has changed since it was analysed: run again")
)

// insert adds an edit to others of its file, sorted by place. The same edit is added once. Two texts inserted at one
// place overlap, since nothing says which comes first.
func insert(edits []finding.Edit, e finding.Edit, size int) ([]finding.Edit, error) {
	if e.Start < 0 || e.Start > e.End || e.End > size {
		return nil, errOutside
	}
	at := len(edits)
	for i, other := range edits {
		if other == e {
			return edits, nil
		}
		bothInsert := e.Start == e.End && other.Start == other.End
		if bothInsert && e.Start == other.Start || e.Start < other.End && other.Start < e.End {
			return nil, errOverlap
		}
		if at == len(edits) && cmp.Or(cmp.Compare(e.Start, other.Start), cmp.Compare(e.End, other.End)) < 0 {
			at = i
		}
	}
	return slices.Insert(edits, at, e), nil
}

// edited is data with the edits made, which are sorted and do not overlap.
func edited(data []byte, edits []finding.Edit) []byte {
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(append(out, data[last:e.Start]...), e.New...)
		last = e.End
	}
	return append(out, data[last:]...)
}

// compiling is those of the files with which everything compiles that does so without them. When not all do together,
// they are taken one after another, as far as they do.
func (p *planner) compiling(ctx context.Context, files map[string][]byte) (map[string][]byte, error) {
	failed, err := p.Compile(ctx, files)
	if err != nil || len(failed) == 0 {
		return files, err
	}
	before, err := p.Compile(ctx, nil)
	if err != nil || news(failed, before) == "" {
		return files, err
	}
	good := make(map[string][]byte)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		trial := p.alone(name, files)
		maps.Copy(trial, good)
		if failed, err = p.Compile(ctx, trial); err != nil {
			return nil, err
		}
		if why := news(failed, before); why != "" {
			p.refused[name] = "it would not compile afterwards: " + why
		} else {
			maps.Copy(good, trial)
		}
	}
	// A fix in several files is gone from all when it is from one.
	files = p.build()
	if len(files) == 0 || maps.EqualFunc(files, good, bytes.Equal) {
		return files, nil
	}
	if failed, err = p.Compile(ctx, files); err != nil {
		return nil, err
	}
	if why := news(failed, before); why != "" {
		for name := range files {
			p.refused[name] = "the fixed files would not compile together: " + why
		}
		files = p.build()
	}
	return files, nil
}

// alone is a file with those that its fixes reach into.
func (p *planner) alone(name string, files map[string][]byte) map[string][]byte {
	with := map[string][]byte{name: files[name]}
	for _, f := range p.findings {
		edits := f.Fixes[0].Edits
		if !slices.ContainsFunc(edits, func(e finding.Edit) bool { return e.Filename == name }) {
			continue
		}
		for _, e := range edits {
			if data, ok := files[e.Filename]; ok {
				with[e.Filename] = data
			}
		}
	}
	return with
}

// news is the first error of a package that compiled before, by the order of packages; empty when there is none.
func news(failed, before map[string]string) string {
	for _, pkg := range slices.Sorted(maps.Keys(failed)) {
		if _, old := before[pkg]; !old {
			return failed[pkg]
		}
	}
	return ""
}
