package flow

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// A SQLFile is a .sql file.
type SQLFile struct {
	Name string // as findings are to name it
	Text string
}

// A SQLView is all the SQL in sight: of Go texts, of builders and ORMs, of .sql files.
type SQLView struct {
	prog    *Program
	pkgs    map[string]bool
	whole   bool                    // all of the module is in sight
	unread  func(table string) bool // files of the module that were not analysed may empty the table
	mention map[string][]*Func      // what functions mention: "=" and a text, "G" and a variable
	uses    []*use
	schema  sqltext.Schema
	places  map[string]Pos // where the texts given to the schema start
	lines   func(sqltext.Position) Pos
	fates   map[string]*fate
	races   map[string]*site // checks that only looked, by the key of the INSERT that comes too late
	fresh   map[string]bool  // table and column that an INSERT fills with a value made anew
	dedup   map[string]bool  // further dedup tables: a check uses them, and they hold nothing but marks
}

// A use is one statement at one place.
type use struct {
	st    *sqltext.Statement
	pos   Pos
	text  *SQLText // the literal, nil for a builder's and a file's
	pkg   string
	fn    *Func // of a builder's
	gen   bool
	file  bool
	name  string   // sqlc's name of the query
	sites []string // keys of the checks that execute it
	known bool     // runs have shown what its holes are
}

// A SQLModule is what only the stand-alone command sees of a module.
type SQLModule struct {
	Files []SQLFile
	// Unread reports whether files of the module that were not analysed may remove rows of a table. It may be nil.
	Unread func(table string) bool
}

// SQL gathers the SQL of the packages. vs are the packages' verdicts; m is nil unless all of the module is in sight.
func (p *Program) SQL(pkgs map[string]bool, vs []*Verdict, m *SQLModule) *SQLView {
	p.mu.Lock()
	defer p.mu.Unlock()
	var files []SQLFile
	v := &SQLView{prog: p, pkgs: pkgs, places: make(map[string]Pos), fates: make(map[string]*fate),
		races: make(map[string]*site), fresh: make(map[string]bool), dedup: make(map[string]bool)}
	if m != nil {
		v.whole, v.unread, files = true, m.Unread, m.Files
	}
	v.literals()
	for _, f := range files {
		v.addFile(f)
	}
	sort.SliceStable(v.uses, func(i, j int) bool { return less(v.uses[i].pos, v.uses[j].pos) })
	v.define(files)
	v.guardTables(vs)
	v.execute()
	v.outcomes(vs)
	return v
}

func (v *SQLView) literals() {
	for _, u := range v.prog.units {
		for i := range u.SQL {
			t := &u.SQL[i]
			for j := range v.prog.parse(t.Text) {
				st := &v.prog.parse(t.Text)[j]
				v.uses = append(v.uses, &use{st: st, pos: t.Pos, text: t, pkg: u.Path, gen: t.Gen, name: st.Query})
			}
		}
	}
}

func (v *SQLView) addFile(f SQLFile) {
	text := sqltext.WithoutDown(f.Name, f.Text)
	stmts := sqltext.Parse(text)
	for i := range stmts {
		st := &stmts[i]
		v.uses = append(v.uses, &use{st: st, pos: placeIn(f, st.Offset), file: true, name: st.Query})
	}
}

// placeIn is the place of a byte in a file.
func placeIn(f SQLFile, offset int) Pos {
	offset = min(max(offset, 0), len(f.Text))
	before := f.Text[:offset]
	return Pos{File: f.Name, Line: int32(strings.Count(before, "\n") + 1), Col: int32(offset - strings.LastIndexByte(before, '\n'))}
}

// define hands what the texts and files say about tables to the schema, in the order of their paths.
func (v *SQLView) define(files []SQLFile) {
	type source struct {
		key, text string
		pos       Pos
	}
	var all []source
	seen := make(map[*SQLText]bool)
	for i, u := range v.uses {
		if u.text != nil && !seen[u.text] {
			seen[u.text] = true
			all = append(all, source{fmt.Sprintf("%s#%d", u.pos.File, i), u.text.Text, u.pos})
		}
	}
	for _, f := range files {
		all = append(all, source{f.Name, f.Text, Pos{File: f.Name}})
	}
	sort.SliceStable(all, func(i, j int) bool { return less(all[i].pos, all[j].pos) })
	for _, s := range all {
		v.places[s.key] = s.pos
		v.schema.Add(s.key, s.text)
	}
	v.lines = func(at sqltext.Position) Pos {
		if p := v.places[at.File]; p.IsValid() {
			return p
		}
		for _, f := range files {
			if f.Name == at.File {
				return placeIn(f, at.Offset)
			}
		}
		return Pos{}
	}
}

// guardTables finds tables whose name says nothing, but which a check uses and which hold nothing but marks.
func (v *SQLView) guardTables(vs []*Verdict) {
	for _, x := range vs {
		for _, s := range x.checks {
			if s.Store != "sql" || s.Table == "" || v.prog.marks(s) || outboxTable(s.Table) {
				continue
			}
			t := v.schema.Table(sqltext.Name{Name: s.Table})
			if t == nil || len(t.Definitions) == 0 {
				continue
			}
			marks, byEvent := true, false
			for _, d := range t.Definitions {
				marks = marks && d.HoldsOnlyMarks()
				for _, c := range d.Columns {
					byEvent = byEvent || sqltext.IsEventIDColumn(c.Name)
				}
			}
			if marks && byEvent {
				v.dedup[strings.ToLower(s.Table)] = true
			}
		}
	}
}

// isDedup reports whether a table is a dedup table, by the configuration that holds where it is mentioned.
func (v *SQLView) isDedup(n sqltext.Name, in *scope) bool {
	return n.Known() && (in.dedupTable(n.Name) && !v.holdsNoID(n) || v.dedup[strings.ToLower(n.Name)])
}

// holdsNoID reports whether a table is seen to have no column that could be an event's id: then its name only speaks of
// the dedup table it belongs to, as that of its positions or settings.
func (v *SQLView) holdsNoID(n sqltext.Name) bool {
	t := v.schema.Table(n)
	if t == nil || len(t.Definitions) == 0 {
		return v.filledWithOther(n)
	}
	for _, d := range t.Definitions {
		if len(d.Columns) == 0 {
			return false
		}
		marks := d.HoldsOnlyMarks()
		for _, c := range d.Columns {
			if mayNameEvent(n, c.Name) && (marks || !c.AutoNumber) {
				return false // a number that the database counts names no event
			}
		}
	}
	return true
}

// filledWithOther reports whether every INSERT into a table shows that it holds something else than marks.
func (v *SQLView) filledWithOther(n sqltext.Name) bool {
	other := false
	for _, u := range v.uses {
		for _, part := range u.parts() {
			if part.Kind != sqltext.Insert || !part.Table.Same(n) {
				continue
			}
			if other = holdsOther(part); !other {
				return false
			}
		}
	}
	return other
}

// execute runs the functions that build statements or put them together, to see what they come to.
func (v *SQLView) execute() {
	have := make(map[string]bool)
	for _, f := range v.prog.sortedFuncs(v.pkgs) {
		if !v.prog.makesSQL(f) {
			continue
		}
		for _, root := range v.prog.above(f, 2) {
			_, rs := v.prog.watch(Root{Fn: root, Kind: RootParam}, World{}, nil, 30_000)
			for _, r := range rs {
				v.took(r, have)
			}
		}
	}
	sort.SliceStable(v.uses, func(i, j int) bool { return less(v.uses[i].pos, v.uses[j].pos) })
}

// took takes an executed statement over: as one more execution of a literal, or as a statement of its own.
func (v *SQLView) took(r ran, have map[string]bool) {
	for _, part := range r.st.Parts() {
		for _, c := range r.fresh {
			v.fresh[strings.ToLower(part.Table.Name+"."+c)] = true
		}
	}
	if r.built.IsValid() {
		k := r.built.String() + r.text + r.st.Table.Name + r.st.Conflict.Action.String()
		if !have[k] && asked(*r.st) {
			have[k] = true
			v.uses = append(v.uses, &use{st: r.st, pos: r.built, pkg: r.fn.Pkg, fn: r.fn, gen: r.fn.Gen, sites: []string{r.key}})
		}
		return
	}
	exact := false
	for _, u := range v.spelled(r) {
		exact = true
		if !slices.Contains(u.sites, r.key) {
			u.sites = append(u.sites, r.key)
		}
	}
	if exact || !asked(*r.st) || have[r.key+r.text] {
		return
	}
	have[r.key+r.text] = true
	from := v.literalOf(r)
	if from == nil {
		return
	}
	from.known = from.known || r.st.Table.Known()
	v.uses = append(v.uses, &use{st: r.st, pos: from.pos, text: from.text, pkg: from.pkg, gen: from.gen, name: from.name, sites: []string{r.key}})
}

// spelled are the literals of an executed text: those of the function that executes it, if there are any, else those of
// its package, else all.
func (v *SQLView) spelled(r ran) []*use {
	var out []*use
	best := 0
	for _, u := range v.uses {
		if !(u.text != nil && u.text.Text == r.text || u.file && u.st.Kind == r.st.Kind && u.st.Text == r.st.Text) {
			continue
		}
		near := 0
		switch {
		case u.text == nil:
		case u.text.Fn != "" && (r.fn.ID == u.text.Fn || strings.HasPrefix(r.fn.ID, u.text.Fn+"$")):
			near = 2
		case u.pkg == r.fn.Pkg:
			near = 1
		}
		if near > best {
			best, out = near, nil
		}
		if near == best || u.file {
			out = append(out, u)
		}
	}
	return out
}

// literalOf finds the literal that an executed text was made of: its known pieces are the text's beginning.
func (v *SQLView) literalOf(r ran) *use {
	var best *use
	score := func(u *use) int {
		n := 0
		if u.pkg == r.fn.Pkg {
			n++
		}
		if u.text.Fn != "" && (r.fn.ID == u.text.Fn || strings.HasPrefix(r.fn.ID, u.text.Fn+"$")) {
			n += 2
		}
		return n
	}
	for _, u := range v.uses {
		if u.text == nil || u.st.Kind != r.st.Kind || !madeOf(r.text, u.text.Text) {
			continue
		}
		if best == nil || score(u) > score(best) {
			best = u
		}
	}
	return best
}

// madeOf reports whether a text is what a pattern with holes came to.
func madeOf(text, pattern string) bool {
	hole := string(rune(sqltext.Hole))
	parts := strings.Split(pattern, hole)
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	for _, part := range parts {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

func (p *Program) sortedFuncs(pkgs map[string]bool) []*Func {
	var out []*Func
	for _, f := range p.funcs {
		if pkgs[f.Pkg] && !f.Test {
			out = append(out, f)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out
}

// makesSQL reports whether running a function shows SQL that its literals alone do not: it builds statements, or holds
// texts that fill or empty a table.
func (p *Program) makesSQL(f *Func) bool {
	for _, c := range f.Consts {
		text := c.S
		if c.Kind == CGlobal && p.globals[c.S] != nil {
			text = p.globals[c.S].C.S
		}
		if (c.Kind == CString || c.Kind == CGlobal) && sqltext.MayBeSQL(text) && fillsOrEmpties(text) {
			return true
		}
	}
	for bi := range f.Blocks {
		for ii := range f.Blocks[bi].Instrs {
			c := f.Blocks[bi].Instrs[ii].Call
			if c == nil {
				continue
			}
			if g := p.fn(c.Fn); g != nil && g.Gen && p.entPackage(g.Pkg) && strings.HasSuffix(g.Recv, "Client") {
				return true
			}
			row := know.Lookup(know.Sym{Pkg: c.Pkg, Recv: c.Recv, Name: c.Name})
			if row == nil {
				continue
			}
			switch row.Kind {
			case know.BuildInsert, know.BuildDelete, know.GormCreate, know.GormSave, know.GormDelete:
				return true
			}
		}
	}
	return false
}

func fillsOrEmpties(s string) bool {
	f := strings.ToLower(s)
	return strings.Contains(f, "insert") || strings.Contains(f, "delete") || strings.Contains(f, "replace into") || strings.Contains(f, "drop table")
}

func from(st *sqltext.Statement) sqltext.Name {
	if len(st.From) > 0 {
		return st.From[0].Table
	}
	return st.Table
}
