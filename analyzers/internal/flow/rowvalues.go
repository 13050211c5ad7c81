package flow

import (
	"slices"
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// What is read of a row and written back as something made of it is not the same when it is done again: the balance that
// was read and the amount of the event. And what a handler leaves in a row is what it reads there when the event comes
// again: the state that it has set.

// rowRead is one row that was read.
type rowRead struct {
	table string            // in lower case; of Redis and MongoDB with the store's name before it
	keys  map[string]*Value // the columns by which it was found
	cols  map[string]*read
}

// read is a column of a row that a value was read from, or made of.
type read struct {
	row  *rowRead
	col  string // see plainName; "*" is the whole row
	made bool   // something else was made of it
}

func newRowRead(table string, keys map[string]*Value) *rowRead {
	return &rowRead{table: strings.ToLower(table), keys: keys, cols: make(map[string]*read)}
}

func (r *rowRead) col(name string, made bool) *read {
	key := name
	if made {
		key += "+"
	}
	if r.cols[key] == nil {
		r.cols[key] = &read{r, name, made}
	}
	return r.cols[key]
}

// taint is the origin of what a column of the row holds.
func (r *rowRead) taint(col string) Taint {
	if r == nil || col == "" {
		return Taint{}
	}
	return Taint{Bits: FromRow, Reads: []*read{r.col(col, false)}}
}

// plainName is a column's or field's name without what tells the two apart.
func plainName(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }

const maxReads = 4

func joinReads(a, b []*read) []*read {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := a
	for _, r := range b {
		if len(out) < maxReads && !slices.Contains(out, r) {
			out = append(slices.Clip(out), r)
		}
	}
	return out
}

// made is the origin of something that is made of a value.
func (t Taint) made() Taint {
	if len(t.Reads) == 0 {
		return t
	}
	var out []*read
	for _, r := range t.Reads {
		out = joinReads(out, []*read{r.row.col(r.col, true)})
	}
	t.Reads = out
	return t
}

// ofField is the origin of a field of what was read as a whole.
func (t Taint) ofField(fa *Instr) Taint {
	if len(t.Reads) == 0 || fa == nil {
		return t
	}
	out := make([]*read, len(t.Reads))
	for i, r := range t.Reads {
		out[i] = r
		if r.col == "*" {
			out[i] = r.row.col(plainName(fa.S), r.made)
		}
	}
	t.Reads = out
	return t
}

// combines reports whether a function makes something of its arguments as an operator does.
func combines(name string) bool {
	words := know.Words(name)
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "add", "sub", "mul", "div", "plus", "minus", "append", "increment", "inc", "decrement", "dec", "subtract", "multiply":
		return true
	}
	return false
}

// writtenBack reports whether a value that goes into a column is made of what was read there, in the same row.
func (w *walker) writtenBack(v *Value, table, col string, keys map[string]*Value) bool {
	if v == nil || strings.HasSuffix(plainName(col), "version") || strings.HasSuffix(plainName(col), "revision") {
		return false
	}
	for _, r := range w.deep(v).Reads {
		if r.made && r.row.table == strings.ToLower(table) && r.col == plainName(col) && w.sameRow(r.row, keys) {
			return true
		}
	}
	return false
}

// rowWrittenBack is [walker.writtenBack] for a row that is written as a whole: a model, or a document.
func (w *walker) rowWrittenBack(v *Value, table string, keys map[string]*Value) bool {
	for _, r := range w.backInto(v) {
		if r.row.table == strings.ToLower(table) && (keys == nil || w.sameRow(r.row, keys)) {
			return true
		}
	}
	return false
}

// backInto are the rows of which something was changed in place: a field holds what is made of itself.
func (w *walker) backInto(v *Value) []*read {
	if v == nil || v.O == nil {
		return nil
	}
	var out []*read
	path := w.pathAt(v)
	for _, p := range w.st.paths(v.O, path) {
		name := p[strings.LastIndexByte(p, '.')+1:]
		if strings.HasPrefix(name, "{") {
			continue
		}
		for _, r := range w.st.get(cell{v.O.id, p}).T.Reads {
			if r.made && r.col == plainName(name) && !strings.HasSuffix(r.col, "version") && !strings.HasSuffix(r.col, "revision") {
				out = append(out, r)
			}
		}
	}
	return out
}

// sameRow reports whether a row is the one that keys find.
func (w *walker) sameRow(r *rowRead, keys map[string]*Value) bool {
	if len(keys) == 0 && len(r.keys) == 0 {
		return true // the only row
	}
	for col, v := range keys {
		if k := r.keys[col]; k != nil && sameBind(k, v) {
			return true
		}
		for _, x := range w.deep(v).Reads {
			if x.row == r && (x.col == col && !x.made || r.table == "redis" && sameText(r.keys[col], v)) {
				return true // the key is made of what the row holds: of what it was found by
			}
		}
	}
	return false
}

// sameText reports whether two texts differ in nothing but what is not known of them.
func sameText(a, b *Value) bool { return a != nil && text(a) == text(b) && text(a) != "" }

// equals are the columns that a condition asks to be equal to an argument.
func (c *sqlCall) equals(w sqltext.Where) map[string]*Value {
	out := make(map[string]*Value)
	for _, cond := range w.Conds {
		if cond.Op != sqltext.Equal || cond.Column.Name == "" || len(cond.Value.Params) != 1 {
			continue
		}
		if v := c.bind(cond.Value.Params[0]); v != nil {
			out[plainName(cond.Column.Name)] = v
		}
	}
	return out
}

// reads remembers which row a SELECT reads.
func (c *sqlCall) reads(q *sqltext.Statement, table string) *rowRead {
	if table == "" || hasHole(table) {
		return nil
	}
	return newRowRead(table, c.equals(q.Where))
}

// queryColumn is the name of the i-th column that a query gives, "" when it is made up.
func queryColumn(st *sqltext.Statement, i int) string {
	if st == nil || st.Kind != sqltext.Select || i >= len(st.Outputs) {
		return ""
	}
	for _, o := range st.Outputs {
		if o.Name == "*" {
			return ""
		}
	}
	if o := st.Outputs[i].Value; o.Class == sqltext.ColumnExpr {
		return plainName(o.Column.Name)
	}
	return ""
}

// sets looks at what an UPDATE, or the UPDATE of an upsert, sets: whether a column gets what is made of itself, and what
// is in the row afterwards.
func (c *sqlCall) sets(part *sqltext.Statement) (back bool) {
	var set []sqltext.Assignment
	keys := map[string]*Value{}
	switch part.Kind {
	case sqltext.Update:
		set, keys = part.Set, c.equals(part.Where)
	case sqltext.Insert:
		set = part.Conflict.Set
		for i, col := range part.Columns {
			if len(part.Rows) == 1 && i < len(part.Rows[0]) && len(part.Rows[0][i].Params) == 1 {
				if v := c.bind(part.Rows[0][i].Params[0]); v != nil && contains(part.Conflict.Columns, col) {
					keys[plainName(col)] = v
				}
			}
		}
	}
	table := part.Table.Name
	for _, s := range set {
		v := c.given(part, s.Value)
		if v == nil {
			continue
		}
		back = back || c.w.writtenBack(v, table, s.Column, keys)
		c.w.remain(table, s.Column, v, keys)
	}
	return back
}

// given is the value that an expression is, nil when it is not a plain one.
func (c *sqlCall) given(part *sqltext.Statement, e sqltext.Expr) *Value {
	switch e.Class {
	case sqltext.ParamExpr:
		return c.bind(e.Param)
	case sqltext.LiteralExpr:
		switch e.Literal.Kind {
		case sqltext.StringLiteral:
			return strVal(e.Literal.Value, Taint{})
		case sqltext.BoolLiteral:
			return boolVal(e.Literal.Value == "true")
		}
	case sqltext.ExcludedExpr:
		for i, col := range part.Columns {
			if len(part.Rows) == 1 && i < len(part.Rows[0]) && strings.EqualFold(col, e.Column.Name) && part.Rows[0][i].Class == sqltext.ParamExpr {
				return c.bind(part.Rows[0][i].Param)
			}
		}
	}
	return nil
}

// remains is what a handler leaves in a column of a row.
type remains struct {
	val  *Value
	keys map[string]*Value
}

// remain remembers what a column holds afterwards.
func (w *walker) remain(table, col string, v *Value, keys map[string]*Value) {
	if w.in.world.Dup || table == "" || hasHole(table) || !w.st.msg {
		return
	}
	for _, k := range keys {
		for _, r := range w.deep(k).Reads {
			if !r.made && r.row.table == strings.ToLower(table) {
				keys = r.row.keys // the row that was read
			}
		}
	}
	if w.in.leaves == nil {
		w.in.leaves = make(map[string][]remains)
	}
	at := strings.ToLower(table) + "|" + plainName(col)
	n := remains{outline(v), make(map[string]*Value)}
	for c, k := range keys {
		n.keys[c] = outline(k)
	}
	for _, l := range w.in.leaves[at] {
		if sameOutline(l.val, n.val) {
			return
		}
	}
	w.in.leaves[at] = append(w.in.leaves[at], n)
}

// outline is what tells a value apart in another run.
func outline(v *Value) *Value {
	return &Value{K: v.K, S: v.S, I: v.I, Slot: v.Slot, T: Taint{Bits: v.T.Bits &^ FromRow}, quiet: len(v.T.Reads) > 0}
}

func sameOutline(l, v *Value) bool {
	if l.K != v.K || l.S != v.S || l.I != v.I || l.quiet {
		return false
	}
	if l.K == VStr && !hasHole(l.S) || l.K == VInt || l.K == VBool {
		return true
	}
	return l.Slot != "" && l.Slot == v.Slot
}

// remains is what a column holds when the event comes again, nil when that is not known.
func (w *walker) remains(r *rowRead, col string) *Value {
	if r == nil || !w.in.world.Dup || w.in.world.Only != "" {
		return nil
	}
	ls := w.in.prog.left[w.in.root.ID][r.table+"|"+col]
	var vals []*Value
	for _, l := range ls {
		same := len(l.keys) == 0 && len(r.keys) == 0
		for c, k := range l.keys {
			same = same || r.keys[c] != nil && sameOutline(k, outline(r.keys[c]))
		}
		if !same {
			return nil
		}
		vals = append(vals, l.val)
	}
	if len(vals) == 0 {
		return nil
	}
	v := &Value{K: VTop, T: r.taint(col), left: vals}
	if c := vals[0]; len(vals) == 1 && (c.K == VStr && !hasHole(c.S) || c.K == VBool) {
		v.K, v.S, v.I = c.K, c.S, c.I
	}
	return v
}

// foundFields puts what a handler leaves in a row into the fields of what the row is read into.
func (w *walker) foundFields(dest *Value, r *rowRead) {
	if r == nil || dest.K != VRef || dest.O == nil || !w.in.world.Dup {
		return
	}
	for at := range w.in.prog.left[w.in.root.ID] {
		col, ok := strings.CutPrefix(at, r.table+"|")
		if !ok {
			continue
		}
		name := w.in.prog.fieldNamed(dest.O, col)
		if v := w.remains(r, col); v != nil && name != "" {
			w.st.set(cell{dest.O.id, join(dest.Path, name)}, v)
		}
	}
}

// fieldNamed is the field of a struct that holds a column, as the code in sight names it.
func (p *Program) fieldNamed(o *Object, col string) string {
	if p.fields == nil {
		p.fields = make(map[string]string)
		for _, f := range p.funcs {
			for bi := range f.Blocks {
				for ii := range f.Blocks[bi].Instrs {
					if in := &f.Blocks[bi].Instrs[ii]; in.Op == OpFieldAddr || in.Op == OpField {
						p.fields[in.S2+"|"+plainName(in.S)] = in.S
					}
				}
			}
		}
	}
	if o.T == nil {
		return ""
	}
	return p.fields[o.T.Name+"|"+col]
}

// comparedLeft compares with what a handler has left in a row.
func comparedLeft(op string, x, y *Value) (r, known bool) {
	switch {
	case len(x.left) > 0:
	case len(y.left) > 0:
		x, y = y, x
		op = map[string]string{"<": ">", ">": "<", "<=": ">=", ">=": "<="}[op] + map[string]string{"==": "==", "!=": "!="}[op]
	default:
		return false, false
	}
	for i, l := range x.left {
		var is bool
		switch {
		case sameOutline(l, outline(y)):
			is = op == "==" || op == "<=" || op == ">="
		case l.K == y.K && (l.K == VStr && !hasHole(l.S) && !hasHole(y.S) || l.K == VBool) && (op == "==" || op == "!="):
			is = op == "!="
		default:
			return false, false
		}
		if i > 0 && is != r {
			return false, false
		}
		r = is
	}
	return r, true
}

// readAt is the origin of what goes into the i-th of n variables: one alone may be a struct for all columns.
func (r *rowVal) readAt(i, n int) Taint {
	if r.wholeAt(n) {
		return r.read.taint("*")
	}
	return r.read.taint(queryColumn(r.query, i))
}

func (r *rowVal) wholeAt(n int) bool {
	return n == 1 && r.read != nil && (r.query == nil || len(r.query.Outputs) != 1 || r.query.Outputs[0].Name == "*")
}
