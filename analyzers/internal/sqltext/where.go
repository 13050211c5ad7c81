package sqltext

import "strings"

// An Op is the comparison of a condition.
type Op uint8

// The comparisons.
const (
	OtherOp Op = iota
	Equal
	NotEqual // <>, !=, IS DISTINCT FROM
	Less
	LessEqual
	Greater
	GreaterEqual
	In // IN (...), = ANY (...)
	NotIn
	Between
	IsNull
	NotNull
	IsTrue
	IsFalse
	Exists
	NotExists
	Either // a OR b: see Cond.Any
)

// A Cond is one of the conditions that WHERE joins by AND.
type Cond struct {
	Op     Op
	Column ColumnRef // the column compared; zero when it is no plain column
	Value  Expr      // what it is compared with
	List   []Expr    // of In and NotIn
	Sub    *Statement
	Any    [][]Cond // of Either: the alternatives, each joined by AND

	left Expr // the compared side when it is no plain column
}

// A Where is a condition. The zero Where is no condition.
type Where struct {
	Present bool
	Conds   []Cond
	Open    bool // an unknown piece is part of it
	// ByTime says that it picks rows by their age: a time column, or anything compared with the clock, is less
	// than something, here or in a subselect.
	ByTime bool
}

// where reads a condition.
func (p *parser) where(lo, hi int) Where {
	w := Where{Present: lo < hi}
	w.Conds = p.conds(&w, nil, lo, hi)
	return w
}

// conds appends the conditions of toks[lo:hi].
func (p *parser) conds(w *Where, out []Cond, lo, hi int) []Cond {
	if p.depth++; p.depth > mostDepth+8 {
		p.depth--
		return append(out, Cond{})
	}
	defer func() { p.depth-- }()
	var arms [][]Cond
	p.within(lo, hi, func() {
		for lo < hi {
			end := p.logical(lo, kwOr)
			if end == hi && arms == nil {
				return
			}
			arms = append(arms, p.conjuncts(w, nil, lo, end))
			lo = end + 1
		}
	})
	if arms != nil {
		return append(out, Cond{Op: Either, Any: arms})
	}
	return p.conjuncts(w, out, lo, hi)
}

// logical finds the next AND or OR outside brackets, CASE and BETWEEN.
func (p *parser) logical(lo int, k keyword) int {
	cases, between := 0, false
	for i := lo; i < p.end; i = p.after(i) {
		t := p.toks[i]
		if t.kind == tokOp && p.src(t) == "||" && k == kwOr {
			continue
		}
		switch {
		case t.kw == kwCase:
			cases++
		case t.kw == kwEnd:
			cases--
		case cases > 0:
		case t.kw == kwBetween:
			between = true
		case t.kw == kwAnd && between:
			between = false
		case t.kw == k:
			return i
		}
	}
	return p.end
}

func (p *parser) conjuncts(w *Where, out []Cond, lo, hi int) []Cond {
	p.within(lo, hi, func() {
		for lo < hi {
			end := p.logical(lo, kwAnd)
			if end > lo {
				out = p.cond(w, out, lo, end)
			}
			lo = end + 1
		}
	})
	return out
}

// cond reads one condition, without AND and OR outside brackets.
func (p *parser) cond(w *Where, out []Cond, lo, hi int) []Cond {
	not := false
	for lo < hi && p.isKw(lo, kwNot) {
		not, lo = !not, lo+1
	}
	for hi > lo && p.toks[hi-1].kind == tokHole && (hi == lo+1 || p.endsOperand(hi-2)) {
		w.Open, p.st.Open = true, true
		hi--
	}
	for lo+1 < hi && p.toks[lo].kind == tokHole && !p.continues(lo+1) {
		w.Open, p.st.Open = true, true
		lo++
	}
	switch {
	case lo == hi:
		return out
	case p.isOpen(lo) && p.after(lo) == hi && !p.startsQuery(lo+1) && !p.hasComma(lo+1, hi-1):
		ilo, ihi := p.inside(lo)
		if !not {
			return p.conds(w, out, ilo, ihi)
		}
		return append(out, p.negated(p.conds(w, nil, ilo, ihi)))
	case p.isKw(lo, kwExists) && p.isOpen(lo+1):
		c := Cond{Op: Exists}
		if not {
			c.Op = NotExists
		}
		c.Sub = p.sub(p.inside(lo + 1))
		w.noteSub(c.Sub)
		return append(out, c)
	}
	return p.comparison(w, out, lo, hi, not)
}

// negated turns NOT (one simple condition) round; anything else is not followed.
func (p *parser) negated(inner []Cond) Cond {
	if len(inner) == 1 {
		c := inner[0]
		if op, ok := opposite(c.Op); ok {
			c.Op = op
			return c
		}
	}
	return Cond{Op: OtherOp}
}

func opposite(op Op) (Op, bool) {
	pairs := [...][2]Op{
		{Equal, NotEqual}, {Less, GreaterEqual}, {Greater, LessEqual}, {In, NotIn}, {IsNull, NotNull}, {IsTrue, IsFalse},
		{Exists, NotExists},
	}
	for _, p := range pairs {
		if op == p[0] {
			return p[1], true
		}
		if op == p[1] {
			return p[0], true
		}
	}
	return op, false
}

func (p *parser) endsOperand(i int) bool {
	switch t := p.toks[i]; t.kind {
	case tokWord:
		switch t.kw {
		case kwNull, kwTrue, kwFalse, kwDefault, kwEnd, kwUpdate:
			return true
		}
		return !t.kw.reserved() && !t.kw.joins()
	case tokQuoted, tokString, tokNumber, tokParam, tokClose, tokVerb, tokHole:
		return true
	}
	return false
}

// continues tells whether the token goes on with the expression before it.
func (p *parser) continues(i int) bool {
	k := p.toks[i].kind
	return k == tokOp || k == tokDot || p.startsOperator(i)
}

func (p *parser) startsOperator(i int) bool {
	switch p.toks[i].kw {
	case kwIs, kwIn, kwNot, kwBetween, kwLike, kwIlike, kwSimilar, kwIsNull, kwNotNull:
		return true
	}
	return false
}

// operator finds the comparison of a condition: the tokens before lo and after hi are its sides.
func (p *parser) operator(from, end int) (op Op, lo, hi int) {
	cases := 0
	for i := from; i < end; i = p.after(i) {
		t := p.toks[i]
		switch {
		case t.kw == kwCase:
			cases++
			continue
		case t.kw == kwEnd:
			cases--
			continue
		case cases > 0 || i > from && p.toks[i-1].kind == tokDot:
			continue
		}
		if t.kind == tokOp {
			if op := comparisonOp(p.src(t)); op != OtherOp {
				return op, i, i + 1
			}
			continue
		}
		if t.kind == tokWord {
			if op, n := p.wordOp(i); n > 0 {
				return op, i, i + n
			}
		}
	}
	return OtherOp, end, end
}

func comparisonOp(s string) Op {
	switch s {
	case "=", "==", "<=>":
		return Equal
	case "<>", "!=":
		return NotEqual
	case "<":
		return Less
	case "<=":
		return LessEqual
	case ">":
		return Greater
	case ">=":
		return GreaterEqual
	}
	return OtherOp
}

// wordOp reads a comparison made of words, with its NOT; n is how many.
func (p *parser) wordOp(i int) (op Op, n int) {
	not := 0
	if p.isKw(i, kwNot) {
		not = 1
	}
	switch p.tokAt(i + not).kw {
	case kwIn:
		if not == 1 {
			return NotIn, 2
		}
		return In, 1
	case kwBetween:
		if not == 1 {
			return OtherOp, 2
		}
		return Between, 1
	case kwLike, kwIlike, kwSimilar, kwRegexp, kwGlob:
		return OtherOp, 1 + not
	case kwIsNull:
		return IsNull, 1
	case kwNotNull:
		return NotNull, 1
	case kwIs:
		return p.isOperator(i)
	}
	return OtherOp, 0
}

// isOperator reads IS [NOT] NULL, TRUE, FALSE, DISTINCT FROM.
func (p *parser) isOperator(i int) (op Op, n int) {
	n, not := 1, false
	if p.isKw(i+1, kwNot) {
		n, not = 2, true
	}
	switch p.tokAt(i + n).kw {
	case kwNull:
		op = IsNull
	case kwTrue:
		op = IsTrue
	case kwFalse:
		op = IsFalse
	case kwDistinct: // IS DISTINCT FROM is <>, IS NOT DISTINCT FROM is =
		if not {
			return Equal, n + 2
		}
		return NotEqual, n + 2
	default:
		return OtherOp, n
	}
	if not {
		op, _ = opposite(op)
	}
	return op, n + 1
}

// comparison reads a condition with one comparison in it, or none.
func (p *parser) comparison(w *Where, out []Cond, lo, hi int, not bool) []Cond {
	op, at, rest := p.operator(lo, hi)
	row := p.isOpen(lo) && p.after(lo) == at && !p.startsQuery(lo+1)
	if op == Equal && row && p.isOpen(rest) && p.after(rest) == hi && !not {
		return p.rowComparison(w, out, lo, rest)
	}
	c := Cond{Op: op}
	if at == hi { // no comparison: a boolean column, a function
		c.Op = IsTrue
	}
	left := p.expr(lo, at)
	switch {
	case op == In || op == NotIn:
		p.list(&c, rest, hi)
	case (op == Equal || op == NotEqual) && p.isOneOf(rest, "any", "some", "all") && p.isOpen(rest+1):
		p.quantified(&c, rest, hi)
	case rest < hi:
		c.Value = p.expr(rest, hi)
		c.Sub = c.Value.Sub
	}
	c.setSides(left)
	if not {
		if o, ok := opposite(c.Op); ok {
			c.Op = o
		} else {
			c.Op = OtherOp
		}
	}
	if c.constant() {
		return out
	}
	w.note(c)
	p.useCond(c)
	return append(out, c)
}

// setSides puts the column on the left.
func (c *Cond) setSides(left Expr) {
	if left.Class == ColumnExpr {
		c.Column = left.Column
		return
	}
	if c.Value.Class == ColumnExpr && len(c.List) == 0 {
		switch c.Op {
		case Less:
			c.Op = Greater
		case LessEqual:
			c.Op = GreaterEqual
		case Greater:
			c.Op = Less
		case GreaterEqual:
			c.Op = LessEqual
		case Equal, NotEqual:
		default:
			c.left = left
			return
		}
		c.Column, c.Value = c.Value.Column, left
		return
	}
	c.left = left
}

// constant sorts out conditions that say nothing: 1 = 1, TRUE.
func (c Cond) constant() bool {
	return c.Column.Name == "" && c.Sub == nil && c.left.Class == LiteralExpr &&
		(c.Value.Class == LiteralExpr || c.Value.Text == "")
}

// list reads what follows IN.
func (p *parser) list(c *Cond, lo, hi int) {
	switch {
	case lo >= hi:
	case p.isOpen(lo) && p.startsQuery(lo+1):
		c.Sub = p.sub(p.inside(lo))
	case p.isOpen(lo) && p.after(lo) == hi:
		ilo, ihi := p.inside(lo)
		if p.isKw(ilo, kwArray) && ilo+1 < ihi && p.toks[ilo+1].kind == tokOpen {
			ilo, ihi = p.inside(ilo + 1) // ANY (ARRAY['a', 'b']), whatever it is cast to
		}
		p.commas(ilo, ihi, func(lo, hi int) { c.List = append(c.List, p.expr(lo, hi)) })
	default:
		c.List = []Expr{p.expr(lo, hi)}
	}
}

// quantified reads = ANY (...) and <> ALL (...).
func (p *parser) quantified(c *Cond, lo, hi int) {
	all := p.isKw(lo, kwAll)
	switch {
	case c.Op == Equal && !all:
		c.Op = In
	case c.Op == NotEqual && all:
		c.Op = NotIn
	default:
		c.Op = OtherOp
	}
	p.list(c, lo+1, hi)
}

// rowComparison reads (a, b) = ($1, $2) as two conditions.
func (p *parser) rowComparison(w *Where, out []Cond, lo, rest int) []Cond {
	var left, right []Expr
	llo, lhi := p.inside(lo)
	p.commas(llo, lhi, func(lo, hi int) { left = append(left, p.expr(lo, hi)) })
	rlo, rhi := p.inside(rest)
	if p.startsQuery(rlo) {
		sub := p.sub(rlo, rhi)
		w.noteSub(sub)
		return append(out, Cond{Op: Equal, Sub: sub})
	}
	p.commas(rlo, rhi, func(lo, hi int) { right = append(right, p.expr(lo, hi)) })
	if len(left) != len(right) {
		return append(out, Cond{})
	}
	for i := range left {
		c := Cond{Op: Equal, Value: right[i]}
		c.setSides(left[i])
		w.note(c)
		p.useCond(c)
		out = append(out, c)
	}
	return out
}

// useCond notes with which columns parameters are compared.
func (p *parser) useCond(c Cond) {
	u := Use{Role: InWhere, Column: c.Column.Name, Op: c.Op, Table: p.tableOf(c.Column.Qualifier)}
	p.use(c.Value, u)
	for _, e := range c.List {
		p.use(e, u)
	}
	if len(c.left.Columns) > 0 {
		u.Column = c.left.Columns[0].Name
	}
	u.Op = OtherOp
	p.use(c.left, u)
}

// tableOf finds the table a qualifier means; the statement's own, or the first of FROM, without one.
func (p *parser) tableOf(q string) Name {
	st := p.st
	if q == "" || strings.EqualFold(q, st.Alias) || strings.EqualFold(q, st.Table.Name) {
		if st.Table.IsZero() && len(st.From) > 0 {
			return st.From[0].Table
		}
		return st.Table
	}
	for _, f := range st.From {
		if strings.EqualFold(q, f.Alias) || strings.EqualFold(q, f.Table.Name) {
			return f.Table
		}
	}
	return Name{}
}

func (w *Where) noteSub(sub *Statement) {
	if sub != nil && sub.Where.ByTime {
		w.ByTime = true
	}
}

// note sees whether a condition picks rows by age.
func (w *Where) note(c Cond) {
	w.noteSub(c.Sub)
	if w.ByTime {
		return
	}
	timed := IsTimeColumn(c.Column.Name)
	for _, r := range c.left.Columns {
		timed = timed || IsTimeColumn(r.Name)
	}
	clock := c.Value.Now() || c.left.Now()
	switch c.Op {
	case Less, LessEqual, Between:
		w.ByTime = timed || c.Value.Now()
	case Greater, GreaterEqual:
		if c.Column.Name != "" {
			return // created_at > now() - interval '1 day': the young ones
		}
		for _, r := range c.Value.Columns {
			timed = timed || IsTimeColumn(r.Name)
		}
		w.ByTime = timed && clock || timed && c.left.Func == "age"
	}
}
