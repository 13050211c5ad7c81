package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// mark returns the check that the statement is, nil when it is none.
func (c *sqlCall) mark(tx *Tx) *site {
	for _, part := range c.st.Parts() {
		if part.Kind != sqltext.Insert {
			continue
		}
		table := part.Table.Name
		dedup := c.dedup(part)
		skips := part.Conflict.Action.Skips()
		named := false
		for i, col := range part.Columns {
			if !sqltext.IsEventIDColumn(col) {
				continue
			}
			if len(part.Rows) == 0 {
				named = true
				continue
			}
			if i < len(part.Rows[0]) {
				for _, p := range part.Rows[0][i].Params {
					if v := c.bind(p); v == nil || !c.madeNow(v) && !c.ofAnother(col, v) {
						named = true
					}
				}
			}
		}
		absent := part.Source != nil && notExists(part.Source)
		if !dedup && !skips && !named && !absent {
			continue
		}
		if c.keyMadeNow(part) {
			continue
		}
		if !dedup && named && !skips && !absent && (outboxTable(table) || c.freshID(part)) {
			continue
		}
		return &site{Pos: c.at(), Desc: "INSERT INTO " + showTable(table), Store: "sql", Table: table, Tx: tx, Batch: c.manyKeys(part)}
	}
	return nil
}

// ofAnother reports whether a column whose name may mean the event's id, or something that an event is about (webhook_id,
// notification_id), gets the id of a row that was read.
func (c *sqlCall) ofAnother(col string, v *Value) bool {
	t := c.w.deep(v)
	return !c.w.know().EventID(col) && t.has(FromRow) && !t.has(FromEventID)
}

// freshID reports whether a plain INSERT has an id of its own that is made on this very delivery: then the id is the
// row's key, and the event's id is only a column.
func (c *sqlCall) freshID(part *sqltext.Statement) bool {
	if len(part.Rows) == 0 {
		return false
	}
	for i, col := range part.Columns {
		if !strings.EqualFold(col, "id") || i >= len(part.Rows[0]) {
			continue
		}
		if part.Rows[0][i].Random() {
			return true
		}
		for _, p := range part.Rows[0][i].Params {
			if v := c.bind(p); v != nil && c.madeNow(v) {
				return true
			}
		}
	}
	return false
}

// neverTaken reports whether a plain INSERT meets no row that is there already: whatever could tell rows apart gets a
// value that is made on this very delivery.
func (c *sqlCall) neverTaken(part *sqltext.Statement) bool {
	if part.Kind != sqltext.Insert || len(part.Rows) != 1 || len(part.Columns) != len(part.Rows[0]) {
		return false
	}
	made := false
	for i, col := range part.Columns {
		if !mayBeUnique(col) {
			continue
		}
		e := part.Rows[0][i]
		fresh := e.Random()
		for _, p := range e.Params {
			v := c.bind(p)
			if v == nil || !c.madeNow(v) {
				return false
			}
			fresh = true
		}
		if !fresh {
			return false
		}
		made = true
	}
	return made
}

func outboxTable(t string) bool { return strings.Contains(strings.ToLower(t), "outbox") }

func notExists(q *sqltext.Statement) bool {
	for _, c := range q.Where.Conds {
		if c.Op == sqltext.NotExists {
			return true
		}
	}
	return false
}

// madeNow reports whether a value is made anew on every delivery.
func (c *sqlCall) madeNow(v *Value) bool {
	return c.w.renewed(v)
}

// keyMadeNow reports whether the key of an INSERT can never be taken, since it is made on this very delivery.
func (c *sqlCall) keyMadeNow(part *sqltext.Statement) bool {
	cols := c.keyColumns(part)
	if len(part.Rows) == 0 || len(cols) == 0 {
		return false
	}
	seen := false
	for i, col := range part.Columns {
		if i >= len(part.Rows[0]) || !contains(cols, col) {
			continue
		}
		e := part.Rows[0][i]
		if e.Random() || e.IsDefault() {
			seen = true
			continue
		}
		for _, p := range e.Params {
			v := c.bind(p)
			if v == nil || !c.madeNow(v) {
				return false
			}
			seen = true
		}
		if len(e.Params) == 0 {
			continue
		}
	}
	return seen
}

// keyColumns are the columns by which an INSERT tells repeats: those of its conflict target, else those named as an
// event's id, else, on a dedup table, all but times.
func (c *sqlCall) keyColumns(part *sqltext.Statement) []string {
	if len(part.Conflict.Columns) > 0 {
		return part.Conflict.Columns
	}
	var out []string
	for _, col := range part.Columns {
		if sqltext.IsEventIDColumnIn(part.Table, col) {
			out = append(out, col)
		}
	}
	if len(out) == 0 && c.w.dedupTable(part.Table.Name) {
		for _, col := range part.Columns {
			if !sqltext.IsTimeColumn(col) {
				out = append(out, col)
			}
		}
	}
	return out
}

// marked gives the outcome of a statement that tells repeats.
func (c *sqlCall) marked(how know.Kind, tx *Tx, s *site) []exit {
	w, st := c.w, c.st
	part := st
	for _, p := range st.Parts() {
		if p.Kind == sqltext.Insert && p.Table.Name == s.Table {
			part = p
			break
		}
	}
	skips := part.Conflict.Action.Skips() || part.Source != nil && notExists(part.Source) || part.Conflict.Action == sqltext.DoUpdate || part.Conflict.Action == sqltext.UnseenAction
	business := !w.dedupTable(s.Table)
	switch w.check(s) {
	case outFail:
		return w.rowsOut(c.ins, how, rowFail, 0, s, nil)
	case outDup:
		if skips || st != part {
			return w.rowsOut(c.ins, how, rowAbsent, 0, s, nil)
		}
		return w.rowsOut(c.ins, how, rowTaken, 0, s, nil)
	}
	w.in.wrote["new:sql:"+strings.ToLower(s.Table)] = true
	if business || st != part {
		w.naturally(c.ins, EffDB, s.Desc, s.Table, tx)
	}
	return w.rowsOut(c.ins, how, rowFound, 1, s, nil)
}

// sinks reports what flows into the key of a dedup table or of a conflict target.
func (c *sqlCall) sinks(part *sqltext.Statement) {
	c.stored(part)
	table := part.Table.Name
	if part.Kind == sqltext.Select && table == "" && len(part.From) > 0 {
		table = part.From[0].Table.Name
	}
	dedup := c.w.dedupTable(table)
	if !dedup && !(part.Kind == sqltext.Insert && part.Conflict.Action.Skips() && !deadLetterName(table)) {
		return // A dead letter is about the record, which its position names: what cannot be decoded has no event id.
	}
	cols := c.keyColumns(part)
	put := func(p sqltext.Param, col string) {
		if v := c.bind(p); v != nil {
			c.w.in.sink(Sink{Kind: SinkDedupSQL, Name: col, Owner: table, Pos: c.at()}, v, c.w)
		}
	}
	switch part.Kind {
	case sqltext.Insert:
		for _, row := range part.Rows {
			for i, col := range part.Columns {
				if i < len(row) && contains(cols, col) {
					for _, p := range row[i].Params {
						put(p, col)
					}
				}
			}
		}
		if len(part.Columns) == 0 && dedup {
			for _, row := range part.Rows {
				for _, e := range row {
					for _, p := range e.Params {
						put(p, "")
					}
				}
			}
		}
	case sqltext.Select, sqltext.Update:
		keyed := false
		for _, cond := range part.Where.Conds {
			if cond.Op == sqltext.Equal && sqltext.IsEventIDColumnIn(part.Table, cond.Column.Name) {
				keyed = true
			}
		}
		for _, cond := range part.Where.Conds {
			if cond.Op != sqltext.Equal && cond.Op != sqltext.In || keyed && !sqltext.IsEventIDColumnIn(part.Table, cond.Column.Name) {
				continue
			}
			for _, p := range cond.Value.Params {
				put(p, cond.Column.Name)
			}
		}
	}
	if part.Exists != nil {
		c.sinks(part.Exists)
	}
}

// stored reports what flows into the ids of rows.
func (c *sqlCall) stored(part *sqltext.Statement) {
	if !c.w.in.ids || part.Kind != sqltext.Insert {
		return
	}
	for _, row := range part.Rows {
		for i, col := range part.Columns {
			if i >= len(row) {
				break
			}
			for _, p := range row[i].Params {
				if v := c.bind(p); v != nil {
					c.w.in.sink(Sink{Kind: SinkColumn, Name: col, Owner: part.Table.Name, Pos: c.at()}, v, c.w)
				}
			}
		}
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if strings.EqualFold(x, s) {
			return true
		}
	}
	return false
}
