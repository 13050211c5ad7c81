package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// write is a statement that changes rows.
func (c *sqlCall) write(how know.Kind, tx *Tx) []exit {
	w, st := c.w, c.st
	fresh := c.assumed()
	if c.ofNothing() {
		return w.rowsOut(c.ins, how, rowAbsent, 0, nil, nil)
	}
	if st.Kind == sqltext.Insert && w.buried(c.ins, c.target()) {
		return w.rowsOut(c.ins, how, rowUnknown, -1, nil, nil)
	}
	if w.st.failed && c.tellsFailure() {
		w.event(&Event{Kind: EvDead, Pos: c.at()})
	}
	if s := c.mark(tx); s != nil {
		return c.marked(how, tx, s)
	}
	idem, _ := st.IdempotentIf(fresh)
	for _, part := range st.Parts() {
		idem = !c.sets(part) && idem
	}
	table, desc := c.target(), c.describe()
	if st.StateGuardedIf(fresh) {
		return c.leavesState(how, desc, table, tx)
	}
	if st.Kind == sqltext.Update {
		w.in.wrote["upd:"+strings.ToLower(table)] = true
	}
	if w.dedupTable(table) && !(table == st.Table.Name && holdsOther(st) && !w.configured(table)) {
		// Housekeeping of the dedup table is no effect on the world.
		return w.rowsOut(c.ins, how, rowUnknown, -1, nil, nil)
	}
	if st.Kind == sqltext.Insert {
		w.in.wrote["new:sql:"+strings.ToLower(table)] = true
	}
	c.effect(desc, table, tx, idem)
	out := w.rowsOut(c.ins, how, rowFound, 1, nil, nil)
	if st.Kind == sqltext.Insert && st.Conflict.Action == sqltext.NoAction && w.in.world.Dup && st.Source == nil && !c.neverTaken(st) {
		return c.mayBeTaken(how, out, &site{Pos: c.at(), Desc: desc, Store: "sql", Table: table, Tx: tx})
	}
	return out
}

// describe says for a reader what the statement does.
func (c *sqlCall) describe() string {
	table := showTable(c.target())
	switch c.st.Kind {
	case sqltext.Insert:
		return "INSERT INTO " + table
	case sqltext.Delete:
		return "DELETE FROM " + table
	case sqltext.Select:
		return "SELECT with a write to " + table
	}
	return strings.ToUpper(c.st.Kind.String()) + " " + table
}

// leavesState is a statement that names the state it leaves: a repeat meets no row.
func (c *sqlCall) leavesState(how know.Kind, desc, table string, tx *Tx) []exit {
	w := c.w
	switch c.st.Kind {
	case sqltext.Delete:
		w.in.wrote["new:gone:"+strings.ToLower(table)] = true
	case sqltext.Update:
		w.in.wrote["upd:"+strings.ToLower(table)] = true
	}
	s := &site{Pos: c.at(), Desc: desc, Store: "state", Table: table, Tx: tx}
	switch w.check(s) {
	case outDup:
		return w.rowsOut(c.ins, how, rowAbsent, 0, s, nil)
	case outFail:
		return w.rowsOut(c.ins, how, rowFail, 0, s, nil)
	}
	c.effect(desc, table, tx, true)
	return w.rowsOut(c.ins, how, rowFound, 1, s, nil)
}

// mayBeTaken is a plain INSERT whose key may be taken: then it fails. Whether it can is seen by whether anyone looks.
func (c *sqlCall) mayBeTaken(how know.Kind, added []exit, s *site) []exit {
	s.Key = siteKey(s.Pos)
	taken := *c.w
	taken.st = c.beforeEffect()
	if c.w.in.wrote["taken:"+s.Key] {
		// Somewhere the violation is handled: a repeat is a violation.
		c.w.in.sites[s.Key] = s
		taken.st.checked = s
		return taken.rowsOut(c.ins, how, rowTaken, 0, s, nil)
	}
	return append(added, taken.rowsOut(c.ins, how, rowTaken, 0, s, nil)...)
}

// tellsFailure reports whether what is written says, in a state of its own, that something went wrong.
func (c *sqlCall) tellsFailure() bool {
	for _, b := range c.binds {
		if b.K == VStr && namesFailure(b.S) {
			return true
		}
	}
	return false
}

// beforeEffect is the state without the effect just recorded in a transaction.
func (c *sqlCall) beforeEffect() *state {
	st := c.w.st.fork()
	var rest []pending
	for _, p := range st.pend {
		if p.hit.call != c.ins {
			rest = append(rest, p)
		}
	}
	st.pend = rest
	return st
}

// effect records a database write. One that lands on the same state is an effect only for those who ask.
func (c *sqlCall) effect(desc, table string, tx *Tx, idem bool) {
	if idem {
		c.w.naturally(c.ins, EffDB, desc, table, tx)
		return
	}
	// An effect whose violation decides is recorded where it can succeed.
	if c.w.in.wrote["taken:"+siteKey(c.at())] && c.w.in.world.Dup && !c.neverTaken(c.st) {
		return
	}
	c.w.asksRow = c.lookedFor(table)
	c.w.effect(c.ins, EffDB, desc, tx)
	c.w.asksRow = ""
}

// lookedFor is the key of the last look, when it asked whether the row that a plain INSERT adds is there: by a column that
// the INSERT fills with the same value.
func (c *sqlCall) lookedFor(table string) string {
	s := c.w.st.checked
	if s == nil || !s.Look || s.Store != "sql" || c.st.Kind != sqltext.Insert || !strings.EqualFold(s.Table, table) || len(c.st.Rows) != 1 {
		return ""
	}
	for i, col := range c.st.Columns {
		if i >= len(c.st.Rows[0]) {
			break
		}
		for _, p := range c.st.Rows[0][i].Params {
			if v := c.bind(p); v != nil && s.keys[strings.ToLower(col)] != nil && sameBind(v, s.keys[strings.ToLower(col)]) {
				return s.Key
			}
		}
	}
	return ""
}

// naturally records a write that is the same when repeated.
func (w *walker) naturally(ins *Instr, kind EffectKind, desc, table string, tx *Tx) {
	if w.scope().strict {
		w.effect(ins, kind, desc, tx)
		return
	}
	if w.in.traces && w.st.msg {
		h := &Hit{Kind: kind, Desc: desc, Pos: ins.Call.At, Pkg: w.fn.Pkg, chain: w.fr, call: ins, tx: tx, Table: table, async: w.st.async > 0, tick: w.st.tick > 0, pool: w.onPool(), natural: true}
		if !h.Pos.IsValid() {
			h.Pos = ins.Pos
		}
		h.cache = kind == EffRedis
		if h.cache {
			h.mark = table
		}
		if w.breaks(h) {
			return
		}
		w.event(&Event{Kind: EvEffect, Hit: h, Pos: h.Pos, Tx: tx})
	}
	w.st.looked = nil
}
