package flow

import (
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// mayNameEvent reports whether a column may hold the id of an event.
func mayNameEvent(table sqltext.Name, column string) bool {
	if sqltext.IsEventIDColumnIn(table, column) {
		return true
	}
	low := strings.ToLower(column)
	switch low {
	case "message", "messages", "message_text", "message_body":
		return false // what it says
	}
	return strings.Contains(low, "event") || strings.Contains(low, "message")
}

// holdsOther reports whether an INSERT shows that a table is no dedup table whatever its name says: it names no event, and
// fills other columns than a mark has. The inbox of a person is one.
func holdsOther(part *sqltext.Statement) bool {
	if part.Kind != sqltext.Insert || len(part.Columns) == 0 {
		return false
	}
	var d sqltext.Definition
	for _, c := range part.Columns {
		if mayNameEvent(part.Table, c) {
			return false
		}
		d.Columns = append(d.Columns, sqltext.ColumnDef{Name: c})
	}
	return !d.HoldsOnlyMarks()
}

// dedup reports whether a statement is on a dedup table.
func (c *sqlCall) dedup(part *sqltext.Statement) bool {
	return c.w.dedupTable(part.Table.Name) && (c.w.configured(part.Table.Name) || !holdsOther(part))
}

// configured reports whether the configuration says that a table is a dedup table.
func (s *scope) configured(table string) bool {
	return slices.ContainsFunc(s.DedupTables(), func(t string) bool { return strings.EqualFold(t, table) })
}

// called is a procedure of the database: it does its work each time, unless it is seen to do none or may look for the
// event itself.
func (c *sqlCall) called(how know.Kind, tx *Tx) []exit {
	w := c.w
	out := func() []exit { return w.rowsOut(c.ins, how, rowUnknown, -1, nil, nil) }
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(c.st.Text)), "call") || c.st.Routine == "" || hasHole(c.st.Routine) {
		return out()
	}
	switch again, seen := w.in.prog.routineRepeats(c.st.Routine); {
	case seen && again:
		return out()
	case !seen && (know.GuardName("", c.st.Routine) != know.NoGuard || housekeeping(c.st.Routine) || slices.ContainsFunc(c.binds, c.tellsEvent)):
		return out()
	}
	c.effect("CALL "+c.st.Routine, "", tx, false)
	return out()
}

// tellsEvent reports whether a procedure can tell from an argument which event it is called for.
func (c *sqlCall) tellsEvent(v *Value) bool {
	return v.Msg || v.raw || v.enc != "" || c.w.deep(v).has(FromEventID|FromMessage|FromHeader|FromKey|FromOffset) || c.w.wholeEvent(v)
}

func housekeeping(routine string) bool {
	w := know.Words(routine)
	if len(w) == 0 {
		return false
	}
	switch w[0] {
	case "refresh", "analyze", "run", "maintain", "lock", "set", "sync", "rebuild", "recalculate", "recompute", "update", "upsert":
		return true
	}
	return false
}

// routineRepeats tells of a procedure that is defined in sight whether it may be called twice.
func (p *Program) routineRepeats(name string) (again, seen bool) {
	again = true
	for _, u := range p.units {
		for i := range u.SQL {
			for _, st := range p.parse(u.SQL[i].Text) {
				if st.Kind != sqltext.Routine || !strings.EqualFold(st.Routine, name) {
					continue
				}
				seen = true
				marks := false
				for j := range st.Body {
					b := &st.Body[j]
					marks = marks || b.Kind == sqltext.Insert && b.Conflict.Action.Skips() || strings.Contains(strings.ToLower(b.Text), "exists")
					if ok, _ := b.Idempotent(); !ok && !marks && b.Kind != sqltext.Unknown && b.Kind != sqltext.Other {
						again = false
					}
				}
			}
		}
	}
	return again, seen
}
