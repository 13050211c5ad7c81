package sqltext

import (
	"cmp"
	"slices"
	"strings"
)

// A Style is how a placeholder is written.
type Style uint8

// The styles.
const (
	Dollar   Style = iota + 1 // $1, ?1, :1: Ordinal is the number
	Question                  // ?: Ordinal counts from 1 within the statement
	Named                     // :name, @name, $name, sqlc.arg(name): Name
	Verb                      // %d, '%s', %[2]s: Ordinal is Sprintf's argument, counted from 1 within the text
	Piece                     // a Hole, {{.X}}, ${x}: only Offset tells which
)

// A Param is a placeholder.
type Param struct {
	Style   Style
	Ordinal int
	Name    string
	Offset  int // in the text given to Parse, in bytes
}

// Same tells whether two placeholders take the same argument.
func (p Param) Same(q Param) bool {
	if p.Style == Piece || q.Style == Piece {
		return false
	}
	return p.Style == q.Style && p.Ordinal == q.Ordinal && strings.EqualFold(p.Name, q.Name)
}

// A Role is what a statement does with a parameter.
type Role uint8

// The roles.
const (
	InOther  Role = iota // LIMIT, a function, a condition that compares no column
	InInsert             // goes into Column of a new row
	InSet                // goes into Column of a row there already
	InWhere              // is compared with Column
)

// A Use is one place where a parameter stands.
type Use struct {
	Param  Param
	Role   Role
	Table  Name
	Column string
	Op     Op   // of InWhere
	Direct bool // nothing but the parameter (casts apart), so that Column holds or is compared with the argument itself
}

// Uses are the places of all parameters, those of nested statements too, in the order of the text.
func (s *Statement) Uses() []Use { return s.uses }

// UsesOf are the places of one parameter: the n-th argument, from 1, for placeholders that count.
func (s *Statement) UsesOf(match func(Param) bool) []Use {
	var out []Use
	for _, u := range s.uses {
		if match(u.Param) {
			out = append(out, u)
		}
	}
	return out
}

// Arg matches the placeholder of the n-th argument, from 1, that is handed over with the statement.
func Arg(n int) func(Param) bool {
	return func(p Param) bool { return (p.Style == Dollar || p.Style == Question) && p.Ordinal == n }
}

// NamedArg matches the placeholder of a name.
func NamedArg(name string) func(Param) bool {
	return func(p Param) bool { return p.Style == Named && strings.EqualFold(p.Name, name) }
}

// SprintfArg matches the verb that prints the n-th argument of Sprintf, from 1, the format not counted.
func SprintfArg(n int) func(Param) bool {
	return func(p Param) bool { return p.Style == Verb && p.Ordinal == n }
}

// param tells what a placeholder's token is.
func (p *parser) param(t token) Param {
	out := Param{Offset: p.base + int(t.lo), Ordinal: int(t.arg)}
	s := p.src(t)
	switch t.kind {
	case tokParam:
		switch {
		case s == "?":
			out.Style = Question
		case t.arg > 0:
			out.Style = Dollar
		default:
			out.Style, out.Name = Named, s[1:]
		}
	default:
		out.Style = Piece
		if t.arg > 0 {
			out.Style = Verb
		}
	}
	return out
}

// use notes where the parameters of an expression go.
func (p *parser) use(e Expr, u Use) {
	if u.Role == InOther {
		return // what has no place is found at the end
	}
	for _, q := range e.Params {
		u.Param = q
		u.Direct = e.Class == ParamExpr || e.Func == "unnest" && len(e.args) == 1 && e.args[0].Class == ParamExpr
		*p.uses = append(*p.uses, u)
	}
}

// finishUses puts all uses in order and adds the parameters that nobody has noted.
func (p *parser) finishUses(st *Statement, lo, hi int) {
	byOffset := func(a, b Use) int { return cmp.Compare(a.Param.Offset, b.Param.Offset) }
	slices.SortStableFunc(st.uses, byOffset)
	noted, next := len(st.uses), 0
	for _, t := range p.toks[lo:hi] {
		if t.kind != tokParam && t.kind != tokVerb && (t.kind != tokString || t.arg == 0) {
			continue
		}
		at := p.base + int(t.lo)
		for next < noted && st.uses[next].Param.Offset < at {
			next++
		}
		if next == noted || st.uses[next].Param.Offset != at {
			st.uses = append(st.uses, Use{Param: p.param(t)})
		}
	}
	if len(st.uses) > noted {
		slices.SortStableFunc(st.uses, byOffset)
	}
}
