package sqltext

import (
	"strconv"
	"strings"
)

// StateGuarded tells whether a repetition of an UPDATE or DELETE provably meets no row: WHERE names a state that SET
// leaves (status = 'packed' when SET makes it 'shipped', signed_at IS NULL when SET fills it in, name <> $2 when SET
// makes it $2), or DELETE names the rows by a value.
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
	if !v.Absolute() || v.Class == DefaultExpr {
		return false
	}
	switch c.Op {
	case Equal:
		return a.differ(c.Value, v)
	case NotEqual, Less, Greater:
		return a.same(c.Value, v) && !a.fresh(v)
	case In:
		for _, e := range c.List {
			if !a.differ(e, v) {
				return false
			}
		}
		return len(c.List) > 0 && c.Sub == nil
	case NotIn:
		for _, e := range c.List {
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

func (e Expr) isNull() bool {
	return e.Class == LiteralExpr && e.Literal.Kind == NullLiteral
}

func (e Expr) isBool(v string) bool {
	return e.Class == LiteralExpr && e.Literal.Kind == BoolLiteral && e.Literal.Value == v
}

// differ tells two known values that are certainly not equal.
func (a Assumption) differ(e, f Expr) bool {
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
