package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// ran is a statement that a run has executed.
type ran struct {
	st    *sqltext.Statement
	text  string
	at    Pos    // of the call that executes it
	built Pos    // for a statement that a builder or ORM made: the part of the chain that a finding points at
	key   string // of the check that the statement may be
	fn    *Func
	given bool // on a handle of a transaction's type that the function was given
	tx    *Tx
	fresh []string // columns of an INSERT that get a value made anew on every try
}

// ran tells the one who watches that a statement is executed.
func (c *sqlCall) ran(text string) {
	if c.w.in.onSQL == nil {
		return
	}
	r := ran{st: c.st, text: text, at: c.at(), key: siteKey(c.at()), fn: c.w.fn, tx: c.tx()}
	r.given = r.tx == nil && c.ins.Call.Recv == "Tx"
	if c.recv != nil && c.recv.O != nil && c.recv.O.Chain != nil && c.recv.O.Chain.kind != know.None {
		r.built = builtAt(c.recv.O.Chain, c.ins, c.st)
	} else if c.built != nil {
		r.built = builtAt(c.built, c.ins, c.st)
	}
	if c.built != nil {
		r.built = builtAt(c.built, c.ins, c.st)
	}
	for _, part := range c.st.Parts() {
		if part.Kind != sqltext.Insert {
			continue
		}
		for i, col := range part.Columns {
			if len(part.Rows) == 0 || i >= len(part.Rows[0]) {
				continue
			}
			for _, p := range part.Rows[0][i].Params {
				if v := c.bind(p); v != nil && c.madeNow(v) {
					r.fresh = append(r.fresh, col)
				}
			}
		}
	}
	c.w.in.onSQL(r)
}

// builtAt is the part of a builder's chain that a finding points at: the conflict clause where there is one, else the
// start of the statement; the method that executes an ORM's.
func builtAt(ch *chain, ins *Instr, st *sqltext.Statement) Pos {
	if strings.Contains(ins.Call.Pkg, "uptrace/bun") {
		return ins.Call.At
	}
	if st.Conflict.Action != sqltext.NoAction {
		for _, s := range ch.steps {
			switch s.name {
			case "Suffix", "SuffixExpr", "On", "Options":
				return s.pos
			}
		}
	}
	return ch.insPos
}

// orm tells the one who watches that an ORM executes a statement, which is written as SQL.
func (w *walker) orm(ins *Instr, ch *chain, st *sqltext.Statement) {
	w.in.onSQL(ran{st: st, text: st.Text, at: ins.Call.At, built: ins.Call.At, key: siteKey(ins.Call.At), fn: w.fn, tx: ch.tx})
}

func (w *walker) ormCreated(ins *Instr, ch *chain, table string, model *Value, first, skips, update bool) {
	if w.in.onSQL == nil || first || table == "" {
		return
	}
	st := &sqltext.Statement{Kind: sqltext.Insert, Table: sqltext.Name{Name: table}, Columns: w.modelColumns(model)}
	switch {
	case skips:
		st.Conflict.Action = sqltext.DoNothing
	case update:
		st.Conflict.Action = sqltext.DoUpdate
	case w.unseenClause(ch):
		st.Conflict.Action = sqltext.UnseenAction
	}
	w.orm(ins, ch, st)
}

// unseenClause reports whether a chain has clauses of which it is not known what they are.
func (w *walker) unseenClause(ch *chain) bool {
	for _, s := range ch.steps {
		if s.name != "Clauses" {
			continue
		}
		list := w.variadic(s.args, 0)
		for _, a := range list {
			if a.Dyn == "" {
				return true
			}
		}
	}
	return false
}

// ormSaved is an upsert of all columns, where the model is made in place: a row that was read before is only changed.
func (w *walker) ormSaved(ins *Instr, ch *chain, table string, model *Value) {
	if w.in.onSQL == nil || table == "" || model.O == nil || !model.O.Local {
		return
	}
	cols := w.modelColumns(model)
	if len(cols) == 0 {
		return
	}
	w.orm(ins, ch, &sqltext.Statement{Kind: sqltext.Insert, Table: sqltext.Name{Name: table}, Columns: cols,
		Conflict: sqltext.Conflict{Action: sqltext.ReplaceRow}})
}

func (w *walker) modelColumns(model *Value) []string {
	if model.O == nil {
		return nil
	}
	var cols []string
	for _, f := range w.fieldNames(model) {
		if f != "" && f != "?" && !strings.ContainsAny(f, "[{.") {
			cols = append(cols, snake(f))
		}
	}
	return cols
}

func (w *walker) ormDeleted(ins *Instr, ch *chain, table string, args []*Value) {
	if w.in.onSQL == nil || table == "" {
		return
	}
	var where []string
	for _, s := range ch.steps {
		if s.name == "Where" && len(s.args) > 0 {
			where = append(where, text(s.args[0]))
		}
	}
	if more := w.variadic(args, 1); len(more) > 0 {
		where = append(where, text(more[0]))
	}
	st := &sqltext.Statement{Kind: sqltext.Delete, Table: sqltext.Name{Name: table}}
	if len(where) > 0 {
		st.Where = sqltext.ParseWhere(strings.Join(where, " AND "))
	}
	w.orm(ins, ch, st)
}

// fate is what runs have shown of an INSERT whose key is taken.
type fate struct {
	handled   bool // its unique violation is looked at
	committed bool // after that, the transaction in which it happened is committed all the same
	passed    bool // after that, a handler is done with the message
	failed    bool // after that, a handler fails
}

// duplicate reports whether the violation is taken for a duplicate: somewhere it is looked at, and no handler is known
// that always fails for it.
func (f *fate) duplicate() bool { return f != nil && f.handled && (f.passed || !f.failed) }

// watch runs a root and collects the statements it executes.
func (p *Program) watch(r Root, w World, wrote map[string]bool, limit int) (*interp, []ran) {
	in := newInterp(p, w)
	in.limit = limit
	for k := range wrote {
		in.wrote[k] = true
	}
	var out []ran
	seen := make(map[string]bool)
	in.onSQL = func(r ran) {
		k := r.key + "|" + r.text
		if !seen[k] || r.built.IsValid() {
			seen[k] = true
			out = append(out, r)
		}
	}
	in.execute(r)
	return in, out
}

// taken runs a root in the world where every key is taken, and tells what becomes of the INSERTs that fail.
// handler says that the root is known to be one, and none of the functions below it.
func (p *Program) taken(r Root, handler bool, wrote map[string]bool, limit int, fates map[string]*fate) {
	in := newInterp(p, World{Dup: true})
	in.limit, in.traces = limit, true
	for k := range wrote {
		in.wrote[k] = true
	}
	given := make(map[string]bool)
	in.onSQL = func(r ran) {
		if r.given && r.st.Kind == sqltext.Insert && r.fn == in.root {
			given[r.key] = true
		}
	}
	committed := make(map[string]bool)
	passed, failed := make(map[string]bool), make(map[string]bool)
	each := func(trace *Event, set map[string]bool) {
		for e := trace; e != nil; e = e.Prev {
			if e.Kind == EvCheck && e.Outcome == outDup && !e.Site.Look {
				set[e.Site.Key] = true
			}
		}
	}
	in.watch = func(w *walker, e *Event) {
		if e.Kind == EvAck || e.Kind == EvPoll || e.Kind == EvTake {
			each(w.st.trace, passed)
		}
	}
	in.onEnd = func(st *state, vals []*Value) {
		done := make(map[*Tx]bool)
		ok, failing := false, false
		if n := len(vals); n > 0 && vals[n-1] != nil {
			isNil, known := vals[n-1].isNil()
			ok, failing = isNil, known && !isNil && returnsError(r.Fn)
		}
		if failing {
			each(st.trace, failed)
		} else {
			each(st.trace, passed)
		}
		for e := st.trace; e != nil; e = e.Prev {
			switch e.Kind {
			case EvCommit:
				done[e.Tx] = true
			case EvCheck:
				if e.Outcome != outDup || e.Site.Look {
					continue
				}
				if e.Site.Tx != nil && e.Site.Tx.Up == nil && done[e.Site.Tx] || given[e.Site.Key] && ok {
					committed[e.Site.Key] = true
				}
			}
		}
	}
	in.execute(r)
	for key := range in.handled {
		f := fates[key]
		if f == nil {
			f = new(fate)
			fates[key] = f
		}
		f.handled = true
		f.committed = f.committed || committed[key]
		if handler {
			f.passed, f.failed = f.passed || passed[key], f.failed || failed[key]
		}
	}
}

func returnsError(f *Func) bool {
	n := len(f.Results)
	return n > 0 && f.Results[n-1] != nil && f.Results[n-1].Kind == KError
}

// asks notes that a check's outcome is looked at: its number of rows, or an error that says that there was none.
func (in *interp) asks(v *Value) {
	if v.Site != nil && (v.K == VInt || v.K == VErr && (v.S == errNoRows || v.S == errUnique)) {
		in.asked[v.Site.Key] = true
	}
}
