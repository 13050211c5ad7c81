package lint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/idemlint/idemlint/analyzers/names"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// A Setting is a value of an option, and where it was given.
type Setting struct {
	Where         string // as it is to be shown
	Option, Value string // the value is one, not a list
}

// A Stray is a setting that names nothing there is.
type Stray struct {
	Setting
	Fault string // what there is not
	Near  string // the nearest that there is; empty if none is near
}

// Strays returns the settings that name nothing there is: no package, no function, no type, no word of the code. It is for
// after a run, whose result it is given. Names are looked up where they are declared, in whatever part of the program the
// patterns have named; what cannot be looked up is passed over.
func (l Linter) Strays(ctx context.Context, result *Result, settings []Setting) ([]Stray, error) {
	if l.Rules.Named == nil {
		return nil, nil
	}
	s := &search{linter: l, result: result, packages: make(map[string]*declared)}
	for _, x := range settings {
		if n, ok := l.Rules.Named(x.Option, x.Value); ok {
			s.wanted = append(s.wanted, wanted{x, n})
		}
	}
	if len(s.wanted) == 0 {
		return nil, nil
	}
	for _, module := range append(config.Modules(l.Dir, os.Getenv("GOWORK")), l.moduleOf()) {
		if module != "" && !slices.Contains(s.modules, module) {
			s.modules = append(s.modules, module)
		}
	}
	s.readModules()
	if err := s.locate(ctx); err != nil {
		return nil, err
	}
	if err := s.look(); err != nil {
		return nil, err
	}
	var strays []Stray
	for _, w := range s.wanted {
		fault, near, err := s.judge(w.name)
		if err != nil {
			return nil, err
		}
		if fault != "" {
			strays = append(strays, Stray{w.Setting, fault, near})
		}
	}
	return strays, nil
}

func (l Linter) moduleOf() string {
	root, _ := config.ModuleRoot(l.Dir)
	return root
}

type wanted struct {
	Setting
	name names.Name
}

// A search is for the names in settings.
type search struct {
	linter  Linter
	result  *Result
	wanted  []wanted
	modules []string // directories of the modules at hand

	own, required []string // paths of the modules at hand, and of those that they require

	found    map[string]string // directories by import path
	absent   map[string]bool   // import paths that are surely none
	packages map[string]*declared

	mentioned map[names.Name]bool
	tables    []string // that SQL in the modules names
}

// locate asks the go command where the packages are.
func (s *search) locate(ctx context.Context) error {
	s.found, s.absent = make(map[string]string), make(map[string]bool)
	var patterns []string
	for _, w := range s.wanted {
		if w.name.Package == "" {
			continue
		}
		for _, path := range s.spellings(w.name.Package) {
			patterns = append(patterns, path)
			if w.name.Kind == names.Package {
				patterns = append(patterns, path+"/...")
			}
		}
	}
	if len(patterns) == 0 {
		return nil
	}
	slices.Sort(patterns)
	args := append([]string{"list", "-e", "-find", "-json=ImportPath,Dir,Error"}, s.linter.BuildFlags...)
	cmd := exec.CommandContext(ctx, "go", append(append(args, "--"), slices.Compact(patterns)...)...)
	cmd.Dir = s.linter.Dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("asking the go command for the packages in the configuration: %w", err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Dir string
			Error           *struct{ Err string }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading what go list says: %w", err)
		}
		if p.Dir != "" {
			s.found[p.ImportPath] = p.Dir
		} else if p.Error != nil && noPackage(p.Error.Err) {
			s.absent[p.ImportPath] = true
		}
	}
}

// noPackage tells whether an error of the go command says that there is no such package, and not that it could not find out.
func noPackage(text string) bool {
	return slices.ContainsFunc([]string{"no required module provides package ", " is not in std", "does not contain package ",
		"import lookup disabled by -mod=vendor"}, func(s string) bool { return strings.Contains(text, s) })
}

// readModules reads the paths of the modules at hand, and of those that they require.
func (s *search) readModules() {
	for _, dir := range s.modules {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			continue // The go command says what is wrong with it.
		}
		f, err := modfile.ParseLax("go.mod", data, nil)
		if err != nil {
			continue
		}
		if f.Module != nil {
			s.own = append(s.own, f.Module.Mod.Path)
		}
		for _, r := range f.Require {
			s.required = append(s.required, r.Mod.Path)
		}
	}
	slices.Sort(s.required)
	s.required = slices.Compact(s.required)
}

// spellings are the import paths that a path in a setting may stand for: itself, and with the major versions of modules.
func (s *search) spellings(path string) []string {
	paths := []string{path}
	canonical := s.linter.Rules.Canonical(path)
	for _, module := range slices.Concat(s.own, s.required) {
		plain := s.linter.Rules.Canonical(module)
		if rest, ok := strings.CutPrefix(canonical+"/", plain+"/"); ok && plain != module {
			paths = append(paths, strings.TrimSuffix(module+"/"+rest, "/"))
		}
	}
	return paths
}

// missing judges an import path that is surely none. One of a module that is not at hand may be meant for another program,
// unless it is a slip of the finger away from what there is here.
func (s *search) missing(path string, have []string) (near string, wrong bool) {
	near = nearestPath(path, have)
	for _, module := range s.own {
		wrong = wrong || path == module || strings.HasPrefix(path, module+"/")
	}
	elements := strings.Split(path, "/")
	for _, module := range s.required {
		if n := strings.Count(module, "/") + 1; near == "" && n <= len(elements) {
			if nearestPath(strings.Join(elements[:n], "/"), []string{module}) != "" {
				near = strings.Join(append([]string{module}, elements[n:]...), "/")
			}
		}
	}
	if near == path {
		near = ""
	}
	return near, wrong || near != ""
}

// sqlTable finds the names of tables in SQL.
var sqlTable = regexp.MustCompile("(?i)\\b(?:into|from|join|update|table(?:\\s+if\\s+not\\s+exists)?)\\s+[\"`]?(?:\\w+[\"`]?\\.[\"`]?)?(\\w+)")

// look reads the files of the modules at hand for tables and words, and where that is not enough what is known of
// dependencies.
func (s *search) look() error {
	var open []names.Name
	for _, w := range s.wanted {
		if w.name.Word != "" {
			open = append(open, w.name)
		}
	}
	s.mentioned = make(map[names.Name]bool)
	if len(open) == 0 {
		return nil
	}
	for _, root := range s.modules {
		err := moduleFiles(root, func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text := string(data)
			for _, n := range open {
				s.mentioned[n] = s.mentioned[n] || n.In(text)
			}
			for _, m := range sqlTable.FindAllStringSubmatch(text, -1) {
				s.tables = append(s.tables, m[1])
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("looking for the names in the configuration: %w", err)
		}
	}
	open = slices.DeleteFunc(open, func(n names.Name) bool { return s.mentioned[n] })
	if len(open) == 0 {
		return nil
	}
	more, err := s.linter.Rules.Mentioned(s.result.summaries, open)
	for n := range more {
		s.mentioned[n] = s.mentioned[n] || more[n]
	}
	slices.Sort(s.tables)
	s.tables = slices.Compact(s.tables)
	return err
}

// judge says what there is not, if there is nothing of that name, and what comes near.
func (s *search) judge(n names.Name) (fault, near string, err error) {
	switch n.Kind {
	case names.Package:
		return s.judgeTree(n.Package)
	case names.Table:
		if !s.mentioned[n] {
			near, _ = rules.Nearest(n.Word, s.tables)
			return "nothing in sight mentions a table " + n.Word, near, nil
		}
		return "", "", nil
	case names.Word:
		if !s.mentioned[n] {
			return "nothing in sight is called " + n.Word, "", nil
		}
		return "", "", nil
	}
	dir := ""
	for _, path := range s.spellings(n.Package) {
		if d := s.found[path]; d != "" {
			dir = d
		} else if dir == "" && !s.absent[path] {
			return "", "", nil
		}
	}
	if dir == "" {
		near, wrong := s.missing(n.Package, s.result.asked)
		if !wrong {
			return "", "", nil
		}
		for _, name := range []string{n.Type, n.Func} {
			if near != "" && name != "" {
				near += "." + name
			}
		}
		return "there is no package " + n.Package, near, nil
	}
	d := s.packages[dir]
	if d == nil {
		if d, err = declaredIn(dir); err != nil {
			return "", "", err
		}
		s.packages[dir] = d
	}
	fault, near = d.judge(n)
	return fault, near, nil
}

// judgeTree judges the name of a package that stands for all below it, too.
func (s *search) judgeTree(path string) (fault, near string, err error) {
	sure := true
	for _, spelling := range s.spellings(path) {
		for p := range s.found {
			if p == spelling || strings.HasPrefix(p, spelling+"/") {
				return "", "", nil
			}
		}
		sure = sure && s.absent[spelling]
	}
	if !sure {
		return "", "", nil
	}
	var roots []string
	for _, p := range s.result.asked {
		for up := p; strings.Contains(up, "/"); up = up[:strings.LastIndexByte(up, '/')] {
			roots = append(roots, up)
		}
	}
	slices.Sort(roots)
	near, wrong := s.missing(path, roots)
	if !wrong {
		return "", "", nil
	}
	return "there is no package " + path + ", and none below it", near, nil
}

// nearestPath is the first of the paths that differs by slips of the finger in the fewest of its elements.
func nearestPath(path string, paths []string) string {
	elements := strings.Split(path, "/")
	best, fewest := "", len(elements)
	for _, p := range paths {
		slips := 0
		others := strings.Split(p, "/")
		if len(others) != len(elements) {
			continue
		}
		for i, e := range elements {
			if e == others[i] {
				continue
			}
			if _, near := rules.Nearest(e, others[i:i+1]); !near {
				slips = len(elements)
			}
			slips++
		}
		if slips < fewest {
			best, fewest = p, slips
		}
	}
	return best
}

// judge says what a package does not declare.
func (d *declared) judge(n names.Name) (fault, near string) {
	var kind, name string
	var have []string
	switch {
	case n.Kind == names.Type:
		if kind, name = "type", n.Type; d.types[name] {
			return "", ""
		}
		have = keys(d.types)
	case n.Type != "":
		if kind, name = "method", n.Type+"."+n.Func; d.funcs[name] || d.open[n.Type] {
			return "", ""
		}
		have = keys(d.funcs)
	default:
		if kind, name = "function", n.Func; d.funcs[name] || n.Kind == names.Handler && d.types[name] {
			return "", ""
		}
		have = keys(d.funcs)
		if n.Kind == names.Handler {
			kind, have = "function or type", append(have, keys(d.types)...)
		}
	}
	near = nearestName(name, have)
	if near != "" {
		near = n.Package + "." + near
	}
	return "package " + n.Package + " has no " + kind + " " + name, near
}

// nearestName is a slip of the finger away, or the only method of that name of any type.
func nearestName(name string, have []string) string {
	if near, ok := rules.Nearest(name, have); ok {
		return near
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	same := slices.DeleteFunc(slices.Clone(have), func(h string) bool { return h[strings.LastIndexByte(h, '.')+1:] != last })
	if len(same) == 1 {
		return same[0]
	}
	return ""
}

func keys(set map[string]bool) []string {
	var out []string
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
