package flow

import (
	"strconv"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// sqlCall is one execution of SQL.
type sqlCall struct {
	w     *walker
	ins   *Instr
	recv  *Value
	st    *sqltext.Statement
	binds []*Value
	named *Value // a struct or map of bind values
	built *chain // what wrote the text, nil when nobody did
	text  string // that the statement is a part of
}

// bind is the value of a placeholder, nil when it is not known which.
func (c *sqlCall) bind(p sqltext.Param) *Value {
	switch p.Style {
	case sqltext.Dollar, sqltext.Question:
		if p.Ordinal >= 1 && p.Ordinal <= len(c.binds) {
			return c.binds[p.Ordinal-1]
		}
	case sqltext.Named:
		for _, b := range c.binds {
			if b.Path == "named:"+p.Name {
				return b
			}
		}
		if c.named != nil {
			return c.namedBind(p.Name)
		}
	}
	return nil
}

// literal is an argument of which it is known what it is.
func (c *sqlCall) literal(p sqltext.Param) (sqltext.Literal, bool) {
	return literal(c.bind(p))
}

// list is an argument of which it is known what it holds: pgx binds a slice to = ANY($3).
func (c *sqlCall) list(p sqltext.Param) ([]sqltext.Literal, bool) {
	v := c.bind(p)
	if v == nil || v.O == nil || c.w.st.get(cell{v.O.id, join(v.Path, "[*]")}) != nil {
		return nil, false
	}
	var out []sqltext.Literal
	for _, e := range c.w.elements(v) {
		l, ok := literal(e)
		if !ok {
			return nil, false
		}
		out = append(out, l)
	}
	return out, len(out) > 0
}

func literal(v *Value) (sqltext.Literal, bool) {
	switch {
	case v == nil:
	case v.K == VStr && !hasHole(v.S):
		return sqltext.Literal{Kind: sqltext.StringLiteral, Value: v.S}, true
	case v.K == VInt:
		return sqltext.Literal{Kind: sqltext.NumberLiteral, Value: strconv.FormatInt(v.I, 10)}, true
	case v.K == VBool:
		return sqltext.Literal{Kind: sqltext.BoolLiteral, Value: strconv.FormatBool(v.I != 0)}, true
	}
	return sqltext.Literal{}, false
}

func (c *sqlCall) namedBind(name string) *Value {
	v := c.named
	if v.K != VRef || v.O == nil {
		return taintVal(c.w.deep(v))
	}
	if x := c.w.st.get(cell{v.O.id, join(v.Path, "{"+name+"}")}); x != nil {
		return x
	}
	// A struct: the field whose name is the column's without underscores.
	flat := strings.ReplaceAll(name, "_", "")
	var out *Value
	for _, p := range c.w.st.paths(v.O, v.Path) {
		if strings.EqualFold(strings.TrimPrefix(strings.TrimPrefix(p, v.Path), "."), flat) {
			out = c.w.st.get(cell{v.O.id, p})
		}
	}
	if out != nil {
		return out
	}
	return taintVal(c.w.deep(v))
}

// text is a string value's text, with a hole where it is not known.
func text(v *Value) string {
	if v.K == VStr {
		return v.S
	}
	if v.K == VInt {
		return itoa(int(v.I))
	}
	return string(rune(sqltext.Hole))
}

func hasHole(s string) bool { return strings.IndexByte(s, byte(sqltext.Hole)) >= 0 }

// runSQL executes a text. how is the kind of the call.
func (w *walker) runSQL(ins *Instr, how know.Kind, recv, txt *Value, binds []*Value, named *Value) []exit {
	if txt = w.textOf(txt); txt.K == VStr && endsBeforeRows(txt.S) {
		return w.rowsOut(ins, how, rowFail, 0, nil, nil)
	}
	if txt.K != VStr || !sqltext.MayBeSQL(txt.S) {
		return w.sqlUnknown(ins, how, binds)
	}
	stmts := w.in.prog.parse(txt.S)
	var out []exit
	for i := range stmts {
		st := &stmts[i]
		if st.Kind == sqltext.Unknown {
			continue
		}
		c := &sqlCall{w: w, ins: ins, recv: recv, st: st, binds: binds, named: named, built: txt.built, text: txt.S}
		c.ran(txt.S)
		w.query, w.reading = st, nil
		out = c.exec(how)
		if len(out) > 0 {
			w.st = out[0].st
		}
	}
	if out == nil {
		return w.sqlUnknown(ins, how, binds)
	}
	return out
}

func (w *walker) sqlUnknown(ins *Instr, how know.Kind, binds []*Value) []exit {
	w.query, w.reading = nil, nil
	return w.rowsOut(ins, how, rowUnknown, -1, nil, nil)
}

// exec classifies the statement and gives its outcome in the present world.
func (c *sqlCall) exec(how know.Kind) []exit {
	w, st := c.w, c.st
	tx := c.tx()
	if st.Kind != sqltext.Select {
		w.keeps(c.ins, st.Table.Name, tx)
	}
	table := st.Table.Name
	for _, part := range st.Parts() {
		c.sinks(part)
	}
	switch st.Kind {
	case sqltext.Select:
		if st.Writes() {
			return c.write(how, tx)
		}
		if st.Exists != nil {
			return c.look(how, tx, st.Exists, true)
		}
		return c.look(how, tx, st, false)
	case sqltext.Insert, sqltext.Update, sqltext.Delete, sqltext.Merge:
		_ = table
		return c.write(how, tx)
	case sqltext.Call:
		return c.called(how, tx)
	}
	return w.rowsOut(c.ins, how, rowUnknown, -1, nil, nil)
}

// tx is the transaction the statement runs in, nil for none.
func (c *sqlCall) tx() *Tx { return c.w.txOf(c.recv) }

func (w *walker) txOf(v *Value) *Tx {
	if v == nil {
		return nil
	}
	if v.O != nil && v.O.Tx != nil {
		return v.O.Tx
	}
	if v.K == VRef && v.O != nil && v.O.Chain != nil {
		return v.O.Chain.tx
	}
	return nil
}

// look is a SELECT: in the world of a duplicate it finds what the first delivery left behind.
func (c *sqlCall) look(how know.Kind, tx *Tx, q *sqltext.Statement, exists bool) []exit {
	w := c.w
	table := q.Table.Name
	if table == "" && len(q.From) > 0 {
		table = q.From[0].Table.Name
	}
	w.in.wrote["read:"+strings.ToLower(table)] = true
	if !exists {
		w.reading = c.reads(q, table)
	}
	if !c.looksForEvent(q, table) {
		if !exists && c.takenAway(q, table) {
			return w.rowsOut(c.ins, how, rowAbsent, 0, nil, nil)
		}
		return w.rowsOut(c.ins, how, rowUnknown, -1, nil, c.deepBinds())
	}
	s := &site{Pos: c.at(), Desc: "SELECT FROM " + showTable(table), Store: "sql", Table: table, Tx: tx, Look: true,
		keys: make(map[string]*Value)}
	for _, cond := range q.Where.Conds {
		for _, p := range cond.Value.Params {
			if v := c.bind(p); cond.Op == sqltext.Equal && v != nil {
				s.keys[strings.ToLower(cond.Column.Name)] = v
			}
		}
	}
	o := w.check(s)
	count := !exists && len(c.st.Outputs) == 1 && c.st.Outputs[0].Value.Func == "count"
	found, val := rowUnknown, (*Value)(nil)
	switch o {
	case outFail:
		return w.rowsOut(c.ins, how, rowFail, 0, s, nil)
	case outDup:
		found = rowFound
		if exists {
			val = boolVal(!c.st.NotExists)
		} else if count {
			val = &Value{K: VInt, I: 1}
		}
	default:
		found = rowAbsent
		if exists {
			found, val = rowFound, boolVal(c.st.NotExists)
		} else if count {
			found, val = rowFound, &Value{K: VInt}
		}
	}
	return w.rowsOutVal(c.ins, how, found, 0, s, nil, val)
}

// takenAway reports whether a SELECT by what the event carries finds nothing any more, since the first delivery deleted the
// row: a reservation that is used up, a task that is taken.
func (c *sqlCall) takenAway(q *sqltext.Statement, table string) bool {
	t := strings.ToLower(table)
	if !c.w.in.world.Dup || !c.w.in.wrote["gone:"+t] || c.w.in.wrote["sql:"+t] {
		return false
	}
	for _, cond := range q.Where.Conds {
		if cond.Op != sqltext.Equal {
			continue
		}
		for _, p := range cond.Value.Params {
			if v := c.bind(p); v != nil && c.w.deep(v).has(FromPayload|FromKey) {
				return true
			}
		}
	}
	return false
}

// looksForEvent reports whether a SELECT asks for what the first delivery of this event left behind: a mark, a row
// that names the event, or a row that this very handler inserts.
func (c *sqlCall) looksForEvent(q *sqltext.Statement, table string) bool {
	keyed, byEvent := false, false
	for _, cond := range q.Where.Conds {
		if cond.Op != sqltext.Equal && cond.Op != sqltext.In {
			continue
		}
		for _, p := range cond.Value.Params {
			v := c.bind(p)
			if v == nil {
				keyed = true
				continue
			}
			t := c.w.deep(v)
			if t.has(FromFresh|FromV4) && !t.has(FromPayload|FromMessage|FromEventID|FromKey|FromHeader) {
				continue
			}
			keyed = true
			if sqltext.IsEventIDColumn(cond.Column.Name) || t.has(FromEventID) {
				byEvent = true
			}
		}
		for _, e := range cond.List {
			if len(e.Params) > 0 {
				keyed = true
				if sqltext.IsEventIDColumn(cond.Column.Name) {
					byEvent = true
				}
			}
		}
	}
	if !keyed {
		return false
	}
	return c.w.dedupTable(table) || byEvent || c.w.in.wrote["sql:"+strings.ToLower(table)]
}

func (c *sqlCall) deepBinds() []*Value { return c.binds }

func (c *sqlCall) at() Pos {
	if c.ins.Call.At.IsValid() {
		return c.ins.Call.At
	}
	return c.ins.Pos
}

func showTable(t string) string { return strings.ReplaceAll(t, string(rune(sqltext.Hole)), "…") }

// assumed is what is known of the statement's arguments.
func (c *sqlCall) assumed() sqltext.Assumption {
	return sqltext.Assumption{
		Fresh: func(p sqltext.Param) bool {
			v := c.bind(p)
			if v == nil {
				return false
			}
			t := c.w.deep(v)
			return t.has(FromV4|FromFresh) && !t.has(FromPayload|FromMessage) && v.K != VStr
		},
		Value: c.literal,
		List:  c.list,
		Apart: func(p, q sqltext.Param) bool {
			x, y := c.bind(p), c.bind(q)
			return x != nil && y != nil && (c.w.in.prog.apart(fieldRead(x), fieldRead(y)) || c.brought(x) && c.brought(y) && (nextTo(x, y) || nextTo(y, x)))
		},
		Given: func(p sqltext.Param) bool {
			v := c.bind(p)
			return v != nil && c.brought(v)
		},
		Same: func(p, q sqltext.Param) bool {
			x, y := c.bind(p), c.bind(q)
			return x != nil && y != nil && sameBind(x, y)
		},
	}
}

// brought reports whether an argument is what a redelivery brings again: of the event, and not read from a row.
func (c *sqlCall) brought(v *Value) bool {
	t := c.w.deep(v)
	return t.has(FromPayload|FromEventID|FromHeader|FromKey) && !t.has(FromRow|FromUnseen|FromFresh|FromV4|FromStored)
}

// nextTo reports whether an argument is another one and a number: the version before.
func nextTo(x, y *Value) bool { return x.step != "" && x.step == y.Slot }

// sameBind reports whether two arguments of one statement are the same: one variable, or one field of the event.
func sameBind(x, y *Value) bool {
	switch {
	case x == y, x.sym != "" && x.sym == y.sym:
		return true
	case x.K != y.K || x.S != y.S || x.I != y.I || x.O != y.O || x.Path != y.Path:
		return false
	case x.K == VStr:
		return x.T.Bits == y.T.Bits
	}
	return x.Slot != "" && x.Slot == y.Slot || x.K == VInt || x.K == VBool
}

func siteKey(p Pos) string { return p.File + ":" + itoa(int(p.Line)) + ":" + itoa(int(p.Col)) }

func (c *sqlCall) target() string {
	if c.st.Kind == sqltext.Select {
		for _, p := range c.st.Parts() {
			if p.Kind != sqltext.Select {
				return p.Table.Name
			}
		}
	}
	return c.st.Table.Name
}
