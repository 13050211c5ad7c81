package flow

import (
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// A janitor is a function that would remove old rows, if anything called it. The zero janitor is none.
type janitor struct{ fn *Func }

func (j janitor) pos() Pos {
	if j.fn == nil {
		return Pos{}
	}
	return j.fn.Pos
}

func (j janitor) name() string {
	if j.fn == nil {
		return ""
	}
	return j.fn.Name
}

// grows reports whether nothing in the module removes old rows of a table, though it holds marks alone. Only the whole
// module shows it.
func (v *SQLView) grows(n sqltext.Name) (bool, janitor) {
	if !v.whole || v.workQueue(n) {
		return false, janitor{}
	}
	var idle janitor
	for _, c := range v.schema.Cleanups(n) {
		ok, j := v.runs(c)
		if ok {
			return false, janitor{}
		}
		if j.fn != nil && idle.fn == nil {
			idle = j
		}
	}
	for _, u := range v.uses {
		if u.file {
			continue
		}
		for _, part := range u.parts() {
			if part.Kind != sqltext.Delete || !part.Where.ByTime {
				continue
			}
			switch {
			case !part.Table.Known() && u.known, part.Table.Known() && !part.Table.Same(n):
				continue
			case u.text != nil && part.Table.Known() && v.inSchema(u):
				continue // it is among the schema's cleanups
			}
			ok, j := v.anyRuns(v.usersOf(u))
			if ok {
				return false, janitor{}
			}
			if j.fn != nil && idle.fn == nil && part.Table.Known() {
				idle = j
			}
		}
	}
	if v.unread != nil && v.unread(n.Name) {
		return false, janitor{}
	}
	return true, idle
}

// inSchema reports whether a literal's statement was handed to the schema as it stands.
func (v *SQLView) inSchema(u *use) bool {
	for i := range v.prog.parse(u.text.Text) {
		if &v.prog.parse(u.text.Text)[i] == u.st {
			return true
		}
	}
	return false
}

// workQueue reports whether a table holds work to be done rather than marks of what was done.
func (v *SQLView) workQueue(n sqltext.Name) bool {
	if t := v.schema.Table(n); t != nil && len(t.Definitions) > 0 {
		return slices.ContainsFunc(t.Definitions, (*sqltext.Definition).IsWorkQueue)
	}
	for _, u := range v.uses {
		for _, part := range u.parts() {
			if part.Kind != sqltext.Insert || !part.Table.Same(n) {
				continue
			}
			var d sqltext.Definition
			for _, c := range part.Columns {
				d.Columns = append(d.Columns, sqltext.ColumnDef{Name: c})
			}
			if d.IsWorkQueue() {
				return true
			}
		}
	}
	return false
}

// runs reports whether a cleanup is ever run: by the database, by a deployment, or by code that something refers to.
func (v *SQLView) runs(c sqltext.Cleanup) (bool, janitor) {
	switch {
	case c.Scheduled, c.Kind == sqltext.PartitionByTool, c.Kind == sqltext.ExpiryByDatabase:
		return true, janitor{}
	case c.Routine != "":
		return v.callsRoutine(c.Routine), janitor{}
	}
	at := v.lines(c.Position)
	var idle janitor
	for _, u := range v.uses {
		switch {
		case u.file && c.Query == "" && u.pos.File == c.File:
			return true, janitor{}
		case u.file:
		case c.Query != "" && u.name == c.Query && u.st.Table.Same(c.Table), u.text != nil && u.pos == at && u.st.Line == c.Line:
			ok, j := v.anyRuns(v.usersOf(u))
			if ok {
				return true, janitor{}
			}
			if idle.fn == nil {
				idle = j
			}
		}
	}
	return false, idle
}

// callsRoutine reports whether SQL in sight calls a function of the database, or schedules it.
func (v *SQLView) callsRoutine(name string) bool {
	low := strings.ToLower(name)
	for _, u := range v.uses {
		if u.st.Kind == sqltext.Routine && strings.EqualFold(u.st.Routine, name) {
			continue
		}
		text := strings.ToLower(u.st.Text)
		if i := strings.Index(text, low+"("); i >= 0 && !strings.HasPrefix(text, "drop") && !strings.HasPrefix(text, "comment") {
			return true
		}
	}
	for _, f := range v.prog.funcs {
		for _, c := range f.Consts {
			if c.Kind == CString && !f.Test && strings.Contains(strings.ToLower(c.S), low) && !strings.Contains(strings.ToLower(c.S), "create ") {
				return true
			}
		}
	}
	return false
}

// usersOf are the functions that use a statement: the one it stands in, or those that mention the constant or variable
// it is declared as.
func (v *SQLView) usersOf(u *use) []*Func {
	switch {
	case u.fn != nil:
		return []*Func{u.fn}
	case u.file:
		return v.embedders(u)
	case u.text == nil:
		return nil
	case u.text.Fn != "":
		if f := v.prog.fn(u.text.Fn); f != nil {
			return []*Func{f}
		}
		return nil
	}
	if v.mention == nil {
		v.indexTexts()
	}
	out := slices.Clone(v.mention["="+strings.TrimRight(u.text.Text, string(rune(sqltext.Hole)))])
	for _, f := range v.mention["G"+u.text.Name] {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// embedders are the functions that mention a variable into which the statement's file is embedded.
func (v *SQLView) embedders(u *use) []*Func {
	if v.mention == nil {
		v.indexTexts()
	}
	var out []*Func
	for name, g := range v.prog.globals {
		if g.C.Kind == CString && strings.Contains(g.C.S, u.st.Text) {
			out = append(out, v.mention["G"+name]...)
		}
	}
	slices.SortFunc(out, func(a, b *Func) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// indexTexts notes which functions mention which SQL and which package variables.
func (v *SQLView) indexTexts() {
	v.mention = make(map[string][]*Func)
	var ids []string
	for id := range v.prog.funcs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		f := v.prog.funcs[id]
		if f.Test {
			continue
		}
		for _, c := range f.Consts {
			switch {
			case c.Kind == CGlobal:
				v.mention["G"+c.S] = append(v.mention["G"+c.S], f)
			case c.Kind == CString && sqltext.MayBeSQL(c.S):
				v.mention["="+c.S] = append(v.mention["="+c.S], f)
			}
		}
	}
}

// anyRuns reports whether one of the functions is no mere janitor, or one that something refers to. The package's
// own initialisation, which puts texts into variables, runs nothing.
func (v *SQLView) anyRuns(fs []*Func) (bool, janitor) {
	var idle janitor
	for _, f := range fs {
		for f.Parent != "" && v.prog.fn(f.Parent) != nil {
			f = v.prog.fn(f.Parent)
		}
		if f.Test || strings.HasSuffix(f.ID, ".init") && len(fs) > 1 {
			continue
		}
		if !f.Gen && !janitorName(f) || v.referred(f) {
			return true, janitor{}
		}
		if idle.fn == nil {
			idle = janitor{f}
		}
	}
	return false, idle
}

// janitorName reports whether a function's name, or its type's, says that removing is what it is for.
func janitorName(f *Func) bool {
	if f.Name == "main" || f.Name == "init" {
		return false
	}
	for _, w := range know.Words(f.Name) {
		switch w {
		case "purge", "purger", "clean", "cleaner", "cleanup", "cleans", "delete", "deletes", "deleter", "prune", "pruner", "expire", "expires", "expired",
			"expiry", "expiration", "remove", "removes", "remover", "sweep", "sweeper", "gc", "garbage", "collect", "vacuum", "retention", "retain",
			"trim", "evict", "forget", "drop", "drops", "dropper", "housekeep", "housekeeping", "housekeeper", "janitor", "reap", "reaper",
			"discard", "shrink", "compact", "compaction", "truncate", "wipe", "clear", "archive", "rotate", "rotation", "old", "older", "stale",
			"ttl", "maintain", "maintenance", "tidy", "erase", "scrub":
			return true
		}
	}
	return false
}

// referred reports whether code other than tests calls a function, mentions it, or gives its receiver to a package
// that calls it through an interface.
func (v *SQLView) referred(f *Func) bool {
	for _, id := range v.prog.callersOf(f.ID) {
		if id != f.ID && !strings.HasPrefix(id, f.ID+"$") {
			return true
		}
	}
	for _, u := range v.prog.units {
		for _, h := range u.Handed {
			pkg, _ := splitType(h.Iface)
			if h.Fn == f.ID && !v.prog.hasUnit(pkg) {
				return true
			}
		}
	}
	return f.Method && v.invokedSomewhere(f)
}

func (p *Program) hasUnit(pkg string) bool {
	return slices.ContainsFunc(p.units, func(u *Unit) bool { return u.Path == pkg && len(u.Funcs)+len(u.Types) > 0 })
}

// invokedSomewhere reports whether a method of the name is called through an interface of which it is not seen what is
// bound to it: reflection may bind it.
func (v *SQLView) invokedSomewhere(f *Func) bool {
	name := f.ID[strings.LastIndexByte(f.ID, '.')+1:]
	for to := range v.prog.refs {
		iface, method, ok := strings.Cut(to, "#")
		if ok && method == name && len(v.prog.sources("N|"+iface)) == 0 {
			return true
		}
	}
	return false
}
