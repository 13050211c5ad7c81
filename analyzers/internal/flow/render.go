package flow

import (
	"strings"

	"github.com/idemlint/idemlint/analyzers/internal/know"
	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// rendering is a collected statement on its way to SQL. Each piece of text comes with the arguments of its
// placeholders, in their order.
type rendering struct {
	w       *walker
	ch      *chain
	prefix  piece
	cols    []string
	rows    [][]*Value // of an INSERT
	exprs   [][]string // what stands for each value of a row
	source  piece      // the SELECT of an INSERT
	set     piece
	where   piece
	tail    piece
	updates bool // an INSERT's conflict clause updates, and its SET is to follow
}

// piece is some SQL, and the values of its placeholders.
type piece struct {
	text  []string
	binds []*Value
}

func (p *piece) add(text string, binds ...*Value) {
	p.text, p.binds = append(p.text, text), append(p.binds, binds...)
}

var holeText = string(rune(sqltext.Hole))

// render writes a collected statement as SQL, so that one judge judges all.
func (w *walker) render(ch *chain) (string, []*Value) {
	r := &rendering{w: w, ch: ch}
	for _, s := range ch.steps {
		r.step(s)
	}
	table := ch.table
	if table == "" {
		table = holeText
	}
	var out piece
	if len(r.prefix.text) > 0 {
		out.add(strings.Join(r.prefix.text, " "), r.prefix.binds...)
	}
	switch ch.kind {
	case know.BuildInsert:
		r.insert(&out, table)
	case know.BuildUpdate:
		r.absolute()
		out.add("UPDATE "+table+" SET "+strings.Join(r.set.text, ", "), r.set.binds...)
	case know.BuildDelete:
		out.add("DELETE FROM " + table)
	default:
		cols := "1"
		if len(r.cols) > 0 {
			cols = strings.Join(r.cols, ", ")
		}
		out.add("SELECT " + cols + " FROM " + table)
	}
	if len(r.where.text) > 0 {
		out.add("WHERE "+strings.Join(r.where.text, " AND "), r.where.binds...)
	}
	if len(r.tail.text) > 0 && ch.kind != know.BuildInsert {
		out.add(strings.Join(r.tail.text, " "), r.tail.binds...)
	}
	return strings.Join(out.text, " "), out.binds
}

// insert writes an INSERT up to its end; what follows an updating conflict clause is written here, too.
func (r *rendering) insert(out *piece, table string) {
	verb := "INSERT INTO "
	if r.ch.replaces {
		verb = "REPLACE INTO "
	}
	head := verb + table
	if len(r.cols) > 0 {
		head += " (" + strings.Join(r.cols, ", ") + ")"
	}
	out.add(head)
	if len(r.source.text) > 0 {
		out.add(strings.Join(r.source.text, " "), r.source.binds...)
	} else {
		var rows []string
		var binds []*Value
		for i, row := range r.rows {
			var vals []string
			for j, v := range row {
				if e := r.exprs[i][j]; e != "" {
					vals = append(vals, e)
					if v != nil {
						binds = append(binds, v.Elems...)
					}
					continue
				}
				vals, binds = append(vals, "?"), append(binds, v)
			}
			rows = append(rows, "("+strings.Join(vals, ", ")+")")
		}
		if len(rows) == 0 {
			rows = []string{"()"}
		}
		out.add("VALUES "+strings.Join(rows, ", "), binds...)
	}
	out.add(strings.Join(r.tail.text, " "), r.tail.binds...)
	if r.updates && len(r.set.text) > 0 {
		out.add("SET "+strings.Join(r.set.text, ", "), r.set.binds...)
	}
}

// step takes one call of the chain.
func (r *rendering) step(s step) {
	w := r.w
	list := w.variadic(s.args, 0)
	switch s.name {
	case "Columns", "Column", "ColumnExpr":
		for _, v := range list {
			r.cols = append(r.cols, text(v))
		}
	case "Values":
		r.row(list)
	case "Value":
		r.value(s)
	case "Prefix":
		r.prefix.add(text(at(s.args, 0)), w.variadic(s.args, 1)...)
	case "Suffix", "SuffixExpr":
		t, b := r.condition(at(s.args, 0), w.variadic(s.args, 1))
		r.tail.add(t, b...)
	case "On":
		on := text(at(s.args, 0))
		r.updates = strings.Contains(strings.ToLower(on), "update") && !strings.Contains(strings.ToLower(on), " set ")
		r.tail.add("ON "+on, w.variadic(s.args, 1)...)
	case "Returning":
		r.tail.add("RETURNING " + text(at(s.args, 0)))
	case "Ignore":
		r.tail.add("ON CONFLICT DO NOTHING")
	case "Options":
		if strings.EqualFold(text(at(list, 0)), "IGNORE") {
			r.tail.add("ON CONFLICT DO NOTHING")
		}
	case "Select":
		if x := at(s.args, 0); x.O != nil && x.O.Chain != nil {
			t, b := w.render(x.O.Chain)
			r.source.add(t, b...)
		} else {
			r.source.add("SELECT " + holeText)
		}
	case "Model":
		r.model(at(s.args, 0))
	case "Where":
		t, b := r.condition(at(s.args, 0), w.variadic(s.args, 1))
		r.where.add(t, b...)
	case "WherePK":
		r.where.add(holeText)
	case "Set", "SetMap", "SetColumn":
		r.assign(s)
	}
}

// row is a row of values.
func (r *rendering) row(vals []*Value) {
	exprs := make([]string, len(vals))
	for i, v := range vals {
		if v != nil {
			exprs[i] = v.expr
		}
	}
	r.rows, r.exprs = append(r.rows, vals), append(r.exprs, exprs)
}

// value is bun's Value: what a column gets is an expression.
func (r *rendering) value(s step) {
	col, expr := text(at(s.args, 0)), text(at(s.args, 1))
	if len(r.rows) == 0 {
		r.row(nil)
	}
	v := &Value{K: VNotNil, expr: expr, Elems: r.w.variadic(s.args, 2)}
	for i, c := range r.cols {
		if c == col && i < len(r.rows[0]) {
			r.rows[0][i], r.exprs[0][i] = v, expr
			return
		}
	}
	r.cols = append(r.cols, col)
	r.rows[0], r.exprs[0] = append(r.rows[0], v), append(r.exprs[0], expr)
}

// model are the columns of an INSERT that an ORM's model names.
func (r *rendering) model(m *Value) {
	if m.O == nil || r.ch.kind != know.BuildInsert {
		return
	}
	var vals []*Value
	for _, f := range r.w.fieldNames(m) {
		r.cols = append(r.cols, snake(f))
		vals = append(vals, r.w.find(m.O, join(r.w.pathAt(m), f), nil, 0))
	}
	r.row(vals)
}

// absolute fills the SET of an UPDATE that names none: an ORM's writes all columns of the model.
func (r *rendering) absolute() {
	if len(r.set.text) > 0 {
		return
	}
	for _, s := range r.ch.steps {
		if m := at(s.args, 0); s.name == "Model" && m.O != nil {
			for _, f := range r.w.fieldNames(m) {
				if f != "" && !strings.ContainsAny(f, "?[{.") {
					r.set.add(snake(f)+" = ?", r.w.find(m.O, join(r.w.pathAt(m), f), nil, 0))
				}
			}
		}
	}
}

// assign is a part of SET. An INSERT's map names its columns.
func (r *rendering) assign(s step) {
	x := at(s.args, 0)
	switch {
	case s.name == "SetColumn":
		r.set.add(text(x)+" = "+text(at(s.args, 1)), r.w.variadic(s.args, 2)...)
	case s.name == "SetMap":
		r.assignMap(x)
	case x.K == VStr && len(s.args) > 1 && !strings.Contains(x.S, "="):
		r.assignTo(x.S, at(s.args, 1))
	case x.K == VStr:
		r.set.add(x.S, r.w.variadic(s.args, 1)...)
	default:
		r.set.add(text(x))
	}
}

func (r *rendering) assignTo(col string, v *Value) {
	if v.expr != "" {
		r.set.add(col+" = "+v.expr, v.Elems...)
	} else {
		r.set.add(col+" = ?", v)
	}
}

func (r *rendering) assignMap(m *Value) {
	cols, vals := r.w.entries(m)
	if cols == nil {
		r.set.add(holeText)
		return
	}
	if r.ch.kind == know.BuildInsert {
		r.cols = append(r.cols, cols...)
		r.row(vals)
		return
	}
	for i, c := range cols {
		r.assignTo(c, vals[i])
	}
}

// entries are the keys and values of a map that was made in sight, nil when not all of its keys are known.
func (w *walker) entries(m *Value) ([]string, []*Value) {
	if m.O == nil || !m.O.Local {
		return nil, nil
	}
	var keys []string
	var vals []*Value
	for _, f := range w.fieldNames(m) {
		if !strings.HasPrefix(f, "{") || !strings.HasSuffix(f, "}") {
			if strings.HasPrefix(f, "{") {
				continue // a part of a value
			}
			return nil, nil
		}
		v := w.find(m.O, join(w.pathAt(m), f), nil, 0)
		if v == nil {
			v = top
		}
		keys = append(keys, strings.ReplaceAll(strings.Trim(f, "{}"), "\u00b7", "."))
		vals = append(vals, v)
	}
	return keys, vals
}

// condition is a builder's condition as SQL: a text with arguments, an expression, squirrel's maps from columns to
// values, and lists of conditions.
func (r *rendering) condition(x *Value, args []*Value) (string, []*Value) {
	switch {
	case x.K == VStr:
		return x.S, args
	case x.expr != "":
		return x.expr, x.Elems
	case strings.HasSuffix(x.Dyn, ".And"), strings.HasSuffix(x.Dyn, ".Or"):
		var all piece
		for _, e := range r.w.elements(x) {
			t, b := r.condition(e, nil)
			all.add(t, b...)
		}
		word := " AND "
		if strings.HasSuffix(x.Dyn, ".Or") {
			word = " OR "
		}
		if len(all.text) > 0 {
			return "(" + strings.Join(all.text, word) + ")", all.binds
		}
		return holeText, nil
	}
	cols, vals := r.w.entries(x)
	if len(cols) == 0 {
		return holeText, nil
	}
	_, typ := splitType(x.Dyn)
	var conds []string
	var binds []*Value
	for i, c := range cols {
		t, b := r.compared(c, typ, vals[i])
		conds, binds = append(conds, t), append(binds, b...)
	}
	return strings.Join(conds, " AND "), binds
}

// compared is a column and what squirrel compares it with.
func (r *rendering) compared(col, typ string, v *Value) (string, []*Value) {
	op := " = "
	switch typ {
	case "Lt":
		op = " < "
	case "LtOrEq":
		op = " <= "
	case "Gt":
		op = " > "
	case "GtOrEq":
		op = " >= "
	case "NotEq":
		op = " <> "
	case "Like", "ILike", "NotLike", "NotILike":
		op = " LIKE "
	}
	switch {
	case v.K == VNil && op == " = ":
		return col + " IS NULL", nil
	case v.K == VNil:
		return col + " IS NOT NULL", nil
	case v.box == KSlice+1 && (op == " = " || op == " <> "):
		in := " IN ("
		if op == " <> " {
			in = " NOT IN ("
		}
		if list := r.w.elements(v); len(list) > 0 {
			return col + in + strings.TrimSuffix(strings.Repeat("?, ", len(list)), ", ") + ")", list
		}
		return col + in + "?)", []*Value{v}
	case v.expr != "":
		return col + op + v.expr, v.Elems
	}
	return col + op + "?", []*Value{v}
}
