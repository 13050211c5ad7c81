package flow

import (
	"slices"
	"sort"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// A SQLFault says why SQL cannot tell a repeat, or what becomes of its table.
type SQLFault uint8

// The faults.
const (
	NoClause      SQLFault = iota + 1 // an INSERT that fails on a repeat
	AbortedTx                         // its violation is handled in the transaction that it has aborted
	Overwrites                        // an INSERT that changes the row that is there
	LooksFirst                        // two consumers can both find nothing, and the INSERT's own outcome does not decide
	NoUniqueKey                       // a table without a key on the event's id
	KeyDiffers                        // a table whose key differs on every try
	RandomEventID                     // a table that makes ids up
	OnlyGrows                         // a table that nothing removes rows from
)

// A SQLFinding is a fault at a place.
type SQLFinding struct {
	Fault  SQLFault
	Table  string
	Pos    Pos
	Column string // of the schema's faults: the event's id, of KeyDiffers the column that differs
	Key    []string
	Other  Pos // of LooksFirst the SELECT, of OnlyGrows the janitor that nothing calls
	Name   string
	Grows  bool // the table of a schema's fault also only grows
}

// Faults are the faults of the SQL, in the order of their places. A statement has one at most.
func (v *SQLView) Faults() []SQLFinding {
	v.prog.mu.Lock()
	defer v.prog.mu.Unlock()
	var out []SQLFinding
	have := make(map[Pos]bool)
	add := func(f SQLFinding) {
		if f.Pos.IsValid() && !have[f.Pos] {
			have[f.Pos] = true
			out = append(out, f)
		}
	}
	for _, u := range v.uses {
		if u.gen || !v.own(u) {
			continue
		}
		for _, part := range u.parts() {
			if f, ok := v.insertFault(u, part); ok {
				add(f)
			}
		}
	}
	for _, f := range v.schemaFaults() {
		add(f)
	}
	sort.SliceStable(out, func(i, j int) bool { return less(out[i].Pos, out[j].Pos) })
	return out
}

func (v *SQLView) own(u *use) bool { return u.file || v.pkgs[u.pkg] }

// parts are the statements that a finding can be about: those of WITH and of a function's body, too.
func (u *use) parts() []*sqltext.Statement {
	if u.st.Kind != sqltext.Routine {
		return u.st.Parts()
	}
	if strings.Contains(strings.ToLower(u.st.Text), "unique_violation") {
		return nil
	}
	var out []*sqltext.Statement
	for i := range u.st.Body {
		out = append(out, u.st.Body[i].Parts()...)
	}
	return out
}

// insertFault judges an INSERT that marks an event in a dedup table.
func (v *SQLView) insertFault(u *use, part *sqltext.Statement) (SQLFinding, bool) {
	if part.Kind != sqltext.Insert || !v.isDedup(part.Table, v.prog.scopeAt(u.pos.File)) || holdsOther(part) || !v.marks(u, part) {
		return SQLFinding{}, false
	}
	f := SQLFinding{Table: part.Table.String(), Pos: u.pos}
	sites := v.sitesOf(u)
	for _, s := range sites {
		if l := v.races[s]; l != nil {
			f.Other, f.Name = l.Pos, l.Desc
		}
	}
	switch part.Conflict.Action {
	case sqltext.NoAction:
		if part.Open || part.Cut {
			return f, false
		}
		f.Fault = NoClause
		for _, s := range sites {
			fate := v.fates[s]
			if !fate.duplicate() {
				continue
			}
			if fate.committed && !statementRollback(part) {
				f.Fault = AbortedTx
				return f, true
			}
			return f, false
		}
		// A statement that is prepared in one place and executed in another is not followed.
		return f, len(sites) > 0 || u.text == nil || !v.handlesDuplicates(u.pkg)
	case sqltext.DoUpdate, sqltext.ReplaceRow:
		f.Fault = Overwrites
		return f, !decides(part)
	case sqltext.DoNothing, sqltext.Ignore:
		f.Fault = LooksFirst
		return f, f.Other.IsValid()
	}
	return f, false
}

// marks reports whether an INSERT marks an event that a program handles: it names the event's id and takes it from
// outside. Seed data and the copies that a migration makes do not.
func (v *SQLView) marks(u *use, part *sqltext.Statement) bool {
	id := len(part.Columns) == 0
	for _, c := range part.Columns {
		id = id || sqltext.IsEventIDColumnIn(part.Table, c) || idLike(c)
	}
	if !id {
		return false
	}
	if u.fn != nil || u.st.Kind == sqltext.Routine || u.name != "" {
		return true
	}
	for _, use := range u.st.Uses() {
		if use.Role == sqltext.InInsert || part.Source != nil {
			return true
		}
	}
	return false
}

func idLike(column string) bool {
	c := strings.ToLower(column)
	for _, tail := range [...]string{"id", "key", "hash"} {
		if strings.HasSuffix(c, tail) {
			return true
		}
	}
	return false
}

// statementRollback reports whether the statement is for a database that takes back a failed statement alone: its
// placeholders are those of MySQL and SQLite.
func statementRollback(st *sqltext.Statement) bool {
	for _, u := range st.Uses() {
		if u.Param.Style == sqltext.Question {
			return true
		}
	}
	return false
}

// handlesDuplicates reports whether a package asks errors of the database whether they are unique violations.
func (v *SQLView) handlesDuplicates(pkg string) bool {
	for _, f := range v.prog.funcs {
		if f.Pkg != pkg || f.Test {
			continue
		}
		for _, c := range f.Consts {
			switch c.Kind {
			case CString:
				if len(c.S) < 60 && saysDuplicate(c.S) && !sqltext.MayBeSQL(c.S) {
					return true
				}
			case CInt:
				if c.I == 1062 || c.I == 2067 {
					return true
				}
			case CGlobal:
				if pkg, name := splitType(c.S); know.UniqueViolation[know.Sym{Pkg: know.Normal(pkg), Name: name}] {
					return true
				}
			}
		}
	}
	return false
}

// decides reports whether an upsert tells repeats after all: it changes the row only under a condition, or returns
// what tells whether the row was there.
func decides(st *sqltext.Statement) bool {
	if st.Conflict.Where.Present || strings.Contains(strings.ToLower(st.Text), "xmax") {
		return true
	}
	for _, c := range st.Returning {
		if !sqltext.IsEventIDColumnIn(st.Table, c) && !sqltext.IsTimeColumn(c) {
			return true
		}
	}
	return false
}

// sitesOf are the executions of a statement: of sqlc's query, those of the method made of it.
func (v *SQLView) sitesOf(u *use) []string {
	if !u.file || u.name == "" {
		return u.sites
	}
	var out []string
	for _, g := range v.uses {
		if g.text != nil && g.name == u.name && g.st.Kind == u.st.Kind && g.st.Table.Same(u.st.Table) {
			out = append(out, g.sites...)
		}
	}
	return out
}

// schemaFaults judges the tables.
func (v *SQLView) schemaFaults() []SQLFinding {
	var out []SQLFinding
	for _, t := range v.schema.Tables() {
		if !v.defined(t) {
			continue
		}
		grows, janitor := v.grows(t.Name)
		told := false
		for _, pr := range t.KeyProblems() {
			f := SQLFinding{Table: t.Name.String(), Pos: v.lines(pr.Definition.Position), Column: pr.Column, Key: pr.Key.Columns}
			switch pr.Fault {
			case sqltext.NoKey:
				f.Fault = NoUniqueKey
			case sqltext.RandomDefault:
				f.Fault = RandomEventID
			case sqltext.KeyVaries:
				f.Fault = KeyDiffers
				if pr.Given && !v.fresh[strings.ToLower(t.Name.Name+"."+pr.Column)] {
					continue
				}
			}
			f.Grows, told = grows && !told, true
			out = append(out, f)
		}
		out = append(out, v.clockKeys(t, &told)...)
		if grows && !told {
			out = append(out, SQLFinding{Fault: OnlyGrows, Table: t.Name.String(), Pos: v.firstDefinition(t), Other: janitor.pos(), Name: janitor.name()})
		}
	}
	return append(out, v.undefined()...)
}

// defined reports whether a table is a dedup table where it is created.
func (v *SQLView) defined(t *sqltext.Table) bool {
	return slices.ContainsFunc(t.Definitions, func(d *sqltext.Definition) bool {
		return v.isDedup(t.Name, v.prog.scopeAt(v.lines(d.Position).File))
	})
}

// clockKeys finds keys without a default that every try fills from the clock or with a value made anew.
func (v *SQLView) clockKeys(t *sqltext.Table, told *bool) []SQLFinding {
	var out []SQLFinding
	if *told {
		return nil
	}
	for _, d := range t.Definitions {
		if d.Open || len(d.Keys) == 0 {
			continue
		}
		bad := ""
		for _, k := range d.Keys {
			col := ""
			id := false
			for _, c := range k.Columns {
				id = id || sqltext.IsEventIDColumnIn(t.Name, c) || c == ""
				if v.fresh[strings.ToLower(t.Name.Name+"."+c)] && !sqltext.IsEventIDColumnIn(t.Name, c) {
					col = c
				}
			}
			if id && col == "" {
				bad = ""
				break
			}
			if id {
				bad = col
			}
		}
		if bad != "" {
			*told = true
			out = append(out, SQLFinding{Fault: KeyDiffers, Table: t.Name.String(), Pos: v.lines(d.Position), Column: bad})
		}
	}
	return out
}

// firstDefinition is the first CREATE TABLE in path and line order.
func (v *SQLView) firstDefinition(t *sqltext.Table) Pos {
	var first Pos
	for _, d := range t.Definitions {
		if p := v.lines(d.Position); p.IsValid() && (!first.IsValid() || less(p, first)) {
			first = p
		}
	}
	return first
}

// undefined are the tables that are filled though no CREATE TABLE is in sight, and that only grow.
func (v *SQLView) undefined() []SQLFinding {
	var out []SQLFinding
	done := make(map[string]bool)
	for _, u := range v.uses {
		if u.gen || !v.own(u) {
			continue
		}
		for _, part := range u.parts() {
			key := strings.ToLower(part.Table.Name)
			if part.Kind != sqltext.Insert || !v.isDedup(part.Table, v.prog.scopeAt(u.pos.File)) || done[key] || holdsOther(part) || !v.marks(u, part) {
				continue
			}
			done[key] = true
			if t := v.schema.Table(part.Table); t != nil && len(t.Definitions) > 0 {
				continue
			}
			if grows, j := v.grows(part.Table); grows {
				out = append(out, SQLFinding{Fault: OnlyGrows, Table: part.Table.String(), Pos: u.pos, Other: j.pos(), Name: j.name()})
			}
		}
	}
	return out
}

// SQL gathers the SQL of the package, and of what it depends on.
func (r *Result) SQL() *SQLView {
	vs := r.Verdicts()
	r.work.Lock()
	defer r.work.Unlock()
	return r.Prog.SQL(r.Prog.ownPkgs, vs, nil)
}
