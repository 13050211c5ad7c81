package sqltext

import (
	"strconv"
	"strings"
)

// StateGuarded tells whether a repetition of an UPDATE or DELETE provably meets no row: WHERE names a state that SET
// leaves (status = 'packed' when SET makes it 'shipped', signed_at IS NULL when SET fills it in, name <> $2 when SET
// makes it $2), or DELETE names the rows by a value. So does the WHERE of ON CONFLICT DO UPDATE that takes only what is
// newer than the row (t.version < EXCLUDED.version).
func (s *Statement) StateGuarded() bool {
	return s.StateGuardedIf(Assumption{})
}

// StateGuardedIf is StateGuarded for a caller that knows more of the arguments.
func (s *Statement) StateGuardedIf(a Assumption) bool {
	ok, _ := s.guarded(a)
	return ok
}

func (s *Statement) guarded(a Assumption) (bool, string) {
	if s.moves() != "" {
		return false, ""
	}
	switch s.Kind {
	case Insert:
		if s.Conflict.Action == DoUpdate && s.neverConflicts(a) == "" {
			return leaves(s.Conflict.Where, s.takenOver(a), a)
		}
	case Update:
		return leaves(s.Where, s.Set, a)
	case Delete:
		for _, c := range s.Where.Conds {
			if (c.Op == Equal || c.Op == In) && c.Column.Name != "" && c.Sub == nil {
				return true, "what is deleted stays deleted"
			}
		}
	}
	return false, ""
}

// takenOver are the columns that hold the same whether the row was there or not: set to what the INSERT brings.
func (s *Statement) takenOver(a Assumption) []Assignment {
	var out []Assignment
	for _, set := range s.Conflict.Set {
		brought, ok := s.excluded(set.Column)
		if ok && (brought.Random() || brought.Now() || a.fresh(brought)) {
			continue
		}
		own := set.Value.Class == ExcludedExpr && strings.EqualFold(set.Value.Column.Name, set.Column)
		if own || ok && a.same(brought, set.Value) {
			out = append(out, set)
		}
	}
	return out
}

// leaves tells whether a condition is false once its row has been set.
func leaves(w Where, set []Assignment, a Assumption) (bool, string) {
	for _, c := range w.Conds {
		if col := c.falseAfter(set, a); col != "" {
			return true, "WHERE names the state of " + show(col) + " that SET leaves"
		}
	}
	return false, ""
}

// falseAfter names the column whose new value makes the condition false; "" when none provably does.
func (c Cond) falseAfter(set []Assignment, a Assumption) string {
	if c.Op == Either {
		col := ""
		for _, arm := range c.Any {
			col = ""
			for _, inner := range arm {
				if col = inner.falseAfter(set, a); col != "" {
					break
				}
			}
			if col == "" {
				return ""
			}
		}
		return col
	}
	if c.Column.Name == "" || c.Column.Excluded {
		return ""
	}
	for _, s := range set {
		if strings.EqualFold(s.Column, c.Column.Name) && c.excludes(s.Value, a) {
			return s.Column
		}
	}
	return ""
}

// excludes tells whether the condition is provably false for a column that holds v.
func (c Cond) excludes(v Expr, a Assumption) bool {
	if c.Op == Equal && a.stepsOff(c, v) {
		return true
	}
	if !v.Absolute() || v.Class == DefaultExpr {
		return false
	}
	switch c.Op {
	case Equal:
		return a.differ(c.Value, v)
	case NotEqual, Less, Greater:
		return a.same(c.Value, v) && !a.fresh(v)
	case In:
		list := a.spread(c.List)
		for _, e := range list {
			if !a.differ(e, v) {
				return false
			}
		}
		return len(list) > 0 && c.Sub == nil
	case NotIn:
		for _, e := range a.spread(c.List) {
			if a.same(e, v) && !a.fresh(v) {
				return true
			}
		}
	case IsNull:
		return !v.isNull()
	case NotNull:
		return v.isNull()
	case IsTrue:
		return c.Value.Text == "" && v.isBool("false")
	case IsFalse:
		return v.isBool("true")
	}
	return false
}

// stepsOff tells whether a column that equals a value is set to the next one, or the one before: version = version + 1 or
// version = $2 + 1, where version = $2; or version = $2, where version = $2 - 1.
func (a Assumption) stepsOff(c Cond, v Expr) bool {
	if !c.Value.Absolute() || c.Sub != nil || c.Value.Now() {
		return false
	}
	for _, p := range c.Value.Params {
		if a.Given == nil || !a.Given(p) {
			return false
		}
	}
	if base, ok := stepped(v.Text); ok {
		if v.has&hasColumn != 0 {
			return len(v.Columns) == 1 && v.Params == nil && strings.EqualFold(v.Columns[0].Name, c.Column.Name) && isColumn(base, c.Column.Name)
		}
		return a.isBase(base, v, c.Value)
	}
	base, ok := stepped(c.Value.Text)
	return ok && v.Absolute() && a.isBase(base, c.Value, v)
}

// isBase tells whether the text to which a number is added, in an expression with one placeholder, is another expression:
// a placeholder for the same.
func (a Assumption) isBase(base string, step, other Expr) bool {
	return other.Class == ParamExpr && len(step.Params) == 1 && step.Params[0].Offset == step.Offset && !strings.ContainsAny(base, " ()*/+-|") &&
		a.same(Expr{Class: ParamExpr, Param: step.Params[0]}, other)
}

// stepped cuts off what an expression ends with if that adds or takes away a number other than zero.
func stepped(text string) (base string, ok bool) {
	i := strings.LastIndexAny(text, "+-")
	if i < 0 {
		return "", false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(text[i+1:]), 10, 32)
	return strings.TrimSpace(text[:i]), err == nil && n > 0
}

// isColumn tells whether a text names a column, with its table or without.
func isColumn(text, name string) bool {
	if i := strings.LastIndexByte(text, '.'); i >= 0 {
		text = text[i+1:]
	}
	return strings.EqualFold(strings.Trim(strings.TrimSpace(text), "\"`"), name)
}

// spread puts what an array holds in the place of the placeholder that stands for it.
func (a Assumption) spread(list []Expr) []Expr {
	if len(list) != 1 || list[0].Class != ParamExpr || a.List == nil {
		return list
	}
	held, ok := a.List(list[0].Param)
	if !ok {
		return list
	}
	var out []Expr
	for _, l := range held {
		out = append(out, Expr{Class: LiteralExpr, Literal: l})
	}
	return out
}

func (e Expr) isNull() bool {
	return e.Class == LiteralExpr && e.Literal.Kind == NullLiteral
}

func (e Expr) isBool(v string) bool {
	return e.Class == LiteralExpr && e.Literal.Kind == BoolLiteral && e.Literal.Value == v
}

// differ tells two known values that are certainly not equal.
func (a Assumption) differ(e, f Expr) bool {
	if a.Apart != nil && e.Class == ParamExpr && f.Class == ParamExpr && a.Apart(e.Param, f.Param) {
		return true
	}
	x, ok := a.literal(e)
	y, both := a.literal(f)
	if !ok || !both {
		return false
	}
	if x.Kind == NullLiteral || y.Kind == NullLiteral {
		return x.Kind != y.Kind
	}
	if x.Kind != y.Kind {
		return false
	}
	if x.Kind == NumberLiteral {
		f, err1 := strconv.ParseFloat(x.Value, 64)
		g, err2 := strconv.ParseFloat(y.Value, 64)
		return err1 == nil && err2 == nil && f != g
	}
	// 'Packed' and 'packed' are one value under a collation that ignores case.
	return !strings.EqualFold(x.Value, y.Value)
}

// sameValue tells two expressions that certainly give the same value within one execution and its repetition.
func sameValue(a, b Expr) bool {
	switch {
	case a.Class != b.Class:
		return false
	case a.Class == ParamExpr:
		return a.Param.Same(b.Param)
	case a.Class == LiteralExpr:
		return a.Literal == b.Literal && a.Literal.Kind != NullLiteral
	case a.Class == ExcludedExpr:
		return strings.EqualFold(a.Column.Name, b.Column.Name)
	}
	return false
}
