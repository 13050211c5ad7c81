package sqltext

import "strings"

// expr reads a value.
func (p *parser) expr(lo, hi int) Expr {
	var e Expr
	if lo >= hi {
		return e
	}
	first, last := p.toks[lo], p.toks[hi-1]
	e.Text = p.text[first.lo:last.hi]
	e.Offset = p.base + int(first.lo)
	p.within(lo, hi, func() { p.classify(&e, lo, hi) })
	return e
}

// bare strips brackets and casts that enclose a whole expression.
func (p *parser) bare(lo, hi int) (int, int) {
	for lo < hi {
		if end := p.withoutCast(lo, hi); end < hi {
			hi = end
			continue
		}
		if p.isKw(lo, kwCast) && p.isOpen(lo+1) && p.after(lo+1) == hi {
			ilo, ihi := p.inside(lo + 1)
			as := ilo
			for as < ihi && !p.isKw(as, kwAs) {
				as = p.after(as)
			}
			if as == ilo || as >= ihi {
				break
			}
			lo, hi = ilo, as
			continue
		}
		if !p.isOpen(lo) || p.after(lo) != hi || lo+2 >= hi || p.startsQuery(lo+1) {
			break
		}
		ilo, ihi := p.inside(lo)
		if p.hasComma(ilo, ihi) {
			break
		}
		lo, hi = ilo, ihi
	}
	return lo, hi
}

// hasComma tells whether a comma stands outside brackets: a row, not a bracketed value.
func (p *parser) hasComma(lo, hi int) bool {
	for i := lo; i < hi; i = p.after(i) {
		if p.toks[i].kind == tokComma {
			return true
		}
	}
	return false
}

// withoutCast gives the end of an expression without the ::type at its end.
func (p *parser) withoutCast(lo, hi int) int {
	at := -1
	for i := lo; i < hi; i = p.after(i) {
		switch t := p.toks[i]; {
		case t.kind == tokOp && p.src(t) == "::" && i > lo:
			if at < 0 {
				at = i
			}
		case at < 0 && t.kind == tokOp:
			return hi // a + b::int casts b alone
		case at < 0 && t.kind == tokWord && t.kw.joins():
			return hi
		case at < 0, t.kind == tokWord && !t.kw.joins(), t.kind == tokQuoted, t.kind == tokDot, t.kind == tokOpen:
		default:
			return hi
		}
	}
	if at < 0 {
		return hi
	}
	return at
}

// joins tells keywords that stand between operands, so that no type's name goes on over them.
func (k keyword) joins() bool {
	switch k {
	case kwAnd, kwOr, kwIs, kwIn, kwLike, kwIlike, kwBetween, kwThen, kwElse, kwEnd, kwWhen, kwNot, kwCollate, kwCase:
		return true
	}
	return false
}

// classify fills in an expression.
func (p *parser) classify(e *Expr, lo, hi int) {
	lo, hi = p.bare(lo, hi)
	if lo >= hi {
		return
	}
	call, open := p.callee(lo, hi)
	signed := p.signed(lo, hi)
	if p.isKw(lo, kwCase) && p.isKw(hi-1, kwEnd) && p.depth < mostDepth && p.cases(e, lo+1, hi-1) {
		e.classifyMixture()
		return
	}
	if call != "" && keepsArguments(call) && p.depth < mostDepth {
		p.arguments(e, open)
	} else {
		p.scan(e, lo, hi)
	}
	switch {
	case hi > lo+1 && p.allStrings(lo, hi): // 'a' and 'b' on two lines are 'ab'
		p.joinStrings(e, lo, hi)
	case p.isOpen(lo) && p.after(lo) == hi && e.has&hasSub != 0:
		e.Class = SubqueryExpr
	case hi == lo+1:
		p.classifyToken(e, p.toks[lo])
	case signed != "":
		e.Class, e.Literal = LiteralExpr, Literal{NumberLiteral, signed}
	case hi == lo+2 && p.nameToken(lo) && p.toks[lo+1].kind == tokString, // date '2026-05-01'
		p.isKw(lo, kwInterval) && hi > lo+2 && p.toks[lo+1].kind == tokString && e.has == 0:
		p.classifyToken(e, p.toks[lo+1])
	case (call == "arg" || call == "narg") && len(e.Params) == 1 && p.isWord(lo, "sqlc"):
		e.Class, e.Param = ParamExpr, e.Params[0]
	case call != "":
		e.Func = call
		p.classifyCall(e, open)
	case len(e.Columns) == 1 && p.isChain(lo, hi):
		e.classifyColumn()
	default:
		e.classifyMixture()
	}
}

// signed is a number with signs before it, perhaps in brackets, with the sign that they come to; "" for anything else.
func (p *parser) signed(lo, hi int) string {
	minus, signs := false, false
	for ; lo+1 < hi; lo, hi = p.bare(lo, hi) {
		if !p.isOp(lo, "-") && !p.isOp(lo, "+") {
			return ""
		}
		minus, signs = minus != p.isOp(lo, "-"), true
		lo++
	}
	switch {
	case !signs || lo >= hi || p.toks[lo].kind != tokNumber:
		return ""
	case minus:
		return "-" + p.src(p.toks[lo])
	}
	return p.src(p.toks[lo])
}

func (p *parser) allStrings(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if t := p.toks[i]; t.kind != tokString || t.hole {
			return false
		}
	}
	return true
}

func (p *parser) joinStrings(e *Expr, lo, hi int) {
	var b strings.Builder
	for i := lo; i < hi; i++ {
		b.WriteString(unquote(p.src(p.toks[i])))
	}
	e.Class, e.Literal = LiteralExpr, Literal{StringLiteral, b.String()}
}

// callee gives the lower-case name of the function when toks[lo:hi] are nothing but one call, and the index of its
// opening bracket.
func (p *parser) callee(lo, hi int) (string, int) {
	i := lo
	for i+2 < hi && p.nameToken(i) && p.toks[i+1].kind == tokDot {
		i += 2
	}
	if i+1 >= hi || !p.nameToken(i) || !p.isOpen(i+1) || p.after(i+1) != hi {
		return "", 0
	}
	switch t := p.toks[i]; t.kw {
	case kwNot, kwExists, kwIn, kwAny, kwAll, kwSome, kwRow, kwArray, kwSelect, kwCast, kwAnd, kwOr, kwInterval:
		return "", 0
	}
	return strings.ToLower(p.ident(p.toks[i])), i + 1
}

func (p *parser) nameToken(i int) bool {
	k := p.toks[i].kind
	return k == tokWord || k == tokQuoted
}

// isChain tells whether toks[lo:hi] are a.b.c and no more.
func (p *parser) isChain(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if (i-lo)%2 == 1 && p.toks[i].kind != tokDot || (i-lo)%2 == 0 && !p.nameToken(i) && p.toks[i].kind != tokHole {
			return false
		}
	}
	return (hi-lo)%2 == 1
}

// arguments reads a call's arguments, and gives the call what they mention.
func (p *parser) arguments(e *Expr, open int) {
	p.depth++
	lo, hi := p.inside(open)
	p.commas(lo, hi, func(lo, hi int) {
		if lo+2 < hi && (p.isOp(lo+1, "=>") || p.isOp(lo+1, ":=")) { // a named argument
			lo += 2
		}
		e.take(p.expr(lo, hi), true)
	})
	p.depth--
}

// take adds what an inner expression mentions, and the expression itself where it can be the outer one's value.
func (e *Expr) take(a Expr, value bool) {
	if value {
		e.args = append(e.args, a)
	}
	e.has |= a.has
	e.Params = append(e.Params, a.Params...)
	e.Columns = append(e.Columns, a.Columns...)
	if e.Sub == nil {
		e.Sub = a.Sub
	}
}

// cases reads what stands between CASE and END: conditions, and the values among which they choose. It is false for
// a CASE within another's pieces without brackets, of which only what it mentions is noted.
func (p *parser) cases(e *Expr, lo, hi int) bool {
	for i := lo; i < hi; i = p.after(i) {
		if p.isKw(i, kwCase) || p.isKw(i, kwEnd) {
			return false
		}
	}
	e.Func = "case"
	p.depth++
	p.within(lo, hi, func() {
		value := false
		for from := lo; from < hi; {
			end := p.seek(from, func(_ int, t token) bool { return t.kw == kwWhen || t.kw == kwThen || t.kw == kwElse })
			if from < end {
				a := p.expr(from, end)
				e.take(a, value)
				if !value {
					e.choice = append(e.choice, a.Columns...)
				}
			}
			value = end < hi && p.toks[end].kw != kwWhen
			from = end + 1
		}
	})
	p.depth--
	return true
}

// classifyToken fills in an expression of one token.
func (p *parser) classifyToken(e *Expr, t token) {
	s := p.src(t)
	switch t.kind {
	case tokParam, tokVerb:
		e.Class, e.Param = ParamExpr, p.param(t)
	case tokNumber:
		e.Class, e.Literal = LiteralExpr, Literal{NumberLiteral, s}
	case tokString:
		value := unquote(s)
		switch {
		case t.arg > 0 || value == string(rune(Hole)):
			e.Class, e.Param = ParamExpr, p.param(t)
			e.Params, e.has = []Param{e.Param}, hasParam
		case t.hole:
			e.Class = ComputedExpr
		default:
			e.Class, e.Literal = LiteralExpr, Literal{StringLiteral, value}
		}
	case tokHole:
		e.Class, e.Param = HoleExpr, p.param(t)
	default:
		switch {
		case t.kw == kwNull:
			e.Class = LiteralExpr
		case t.kw == kwTrue, t.kw == kwFalse:
			e.Class, e.Literal = LiteralExpr, Literal{BoolLiteral, strings.ToLower(s)}
		case t.kw == kwDefault:
			e.Class = DefaultExpr
		case e.has&hasNow != 0:
			e.Class = NowExpr
		case len(e.Columns) == 1:
			e.classifyColumn()
		}
	}
}

// unquote gives the content of a string literal, without prefix, quotes and doubled quotes.
func unquote(s string) string {
	if s[0] == '$' {
		n := strings.IndexByte(s[1:], '$') + 2
		return s[n : len(s)-n]
	}
	i := strings.IndexByte(s, '\'')
	s = s[i+1:]
	s = strings.TrimSuffix(s, "'")
	if strings.Contains(s, "''") {
		s = strings.ReplaceAll(s, "''", "'")
	}
	return s
}

func (e *Expr) classifyColumn() {
	e.Class, e.Column = ColumnExpr, e.Columns[0]
	if e.Column.Excluded {
		e.Class = ExcludedExpr
	}
}

func (p *parser) classifyCall(e *Expr, open int) {
	switch {
	case isRandomFunc(e.Func, p.isEmpty(open)):
		e.Class = RandomExpr
	case e.Func == "values" && len(e.Columns) == 1:
		e.classifyColumn()
	default:
		e.classifyMixture()
	}
}

func (p *parser) isEmpty(open int) bool { return p.after(open) == open+2 }

// classifyMixture goes by what occurs in the expression.
func (e *Expr) classifyMixture() {
	switch {
	case e.has&(hasRandom|hasSub|hasHole|hasColumn|hasExcluded) != 0:
		e.Class = OtherExpr
	case e.has&hasNow != 0:
		e.Class = NowExpr
	default:
		e.Class = ComputedExpr
	}
}

// exclude makes the columns of a row alias EXCLUDED's.
func (e *Expr) exclude(row string) {
	e.has &^= hasColumn
	for i := range e.Columns {
		c := &e.Columns[i]
		c.Excluded = c.Excluded || c.Qualifier == row
		if c.Excluded {
			e.has |= hasExcluded
		} else {
			e.has |= hasColumn
		}
	}
	if e.Class == ColumnExpr {
		e.classifyColumn()
	}
	for i := range e.args {
		e.args[i].exclude(row)
	}
}

// scan notes what occurs in toks[lo:hi]: parameters, columns, functions, subselects.
func (p *parser) scan(e *Expr, lo, hi int) {
	for i := lo; i < hi; {
		t := p.toks[i]
		switch t.kind {
		case tokParam, tokVerb:
			e.Params = append(e.Params, p.param(t))
			e.has |= hasParam
		case tokHole:
			e.Params = append(e.Params, p.param(t))
			e.has |= hasHole
		case tokOpen:
			if p.startsQuery(i + 1) {
				sub := p.sub(p.inside(i))
				if e.Sub == nil {
					e.Sub = sub
				}
				e.has |= hasSub
				i = p.after(i)
				continue
			}
		case tokString:
			if t.arg > 0 || t.hole && unquote(p.src(t)) == string(rune(Hole)) {
				e.Params = append(e.Params, p.param(t))
				e.has |= hasParam
			}
		case tokOp:
			if p.src(t) == "::" {
				i = p.typeEnd(i+1, hi)
				continue
			}
		case tokDot: // a field of a composite: (row).field
			if i > lo && p.toks[i-1].kind == tokClose && i+1 < hi && p.nameToken(i+1) {
				i++
			}
		case tokWord, tokQuoted:
			if i > lo && p.isKw(i-1, kwCollate) {
				break
			}
			i = p.scanName(e, i, hi)
			continue
		}
		i++
	}
}

// typeEnd passes over the name of a type.
func (p *parser) typeEnd(i, hi int) int {
	for start := i; i < hi; {
		t := p.toks[i]
		begins := i == start || p.toks[i-1].kind == tokDot
		switch {
		case t.kind == tokDot, begins && p.nameToken(i), t.kind == tokWord && p.isTypeWord(i):
			i++
		case t.kind == tokOpen && !begins && (p.text[t.lo] == '[' || p.tokAt(i+1).kind == tokNumber):
			i = p.after(i)
		default:
			return i
		}
	}
	return i
}

// isTypeWord tells the second words of types: timestamp with time zone, double precision, character varying.
func (p *parser) isTypeWord(i int) bool {
	return p.isOneOf(i, "with", "without", "time", "zone", "precision", "varying")
}

// scanName notes a column or function and gives the index behind it.
func (p *parser) scanName(e *Expr, i, hi int) int {
	t := p.toks[i]
	if t.kind == tokWord && p.syntax(e, i, hi) {
		if t.kw == kwAs { // CAST(x AS t)
			return p.typeEnd(i+1, hi)
		}
		return i + 1
	}
	if t.kind == tokQuoted && i+1 < hi && p.toks[i+1].kind == tokString { // "my type" 'x'
		return i + 1
	}
	from := i
	for i+2 < hi && p.toks[i+1].kind == tokDot && (p.nameToken(i+2) || p.toks[i+2].kind == tokHole) {
		i += 2
	}
	name := p.ident(p.toks[i])
	if i+1 < hi && p.isOpen(i+1) {
		return p.scanCall(e, from, i, strings.ToLower(name))
	}
	if i == from && t.kind == tokWord && isNowWord(name) {
		e.has |= hasNow
		return i + 1
	}
	if i+2 < hi && p.toks[i+1].kind == tokDot { // t.*
		return i + 2
	}
	p.mention(e, from, i, name)
	return i + 1
}

func (p *parser) mention(e *Expr, from, i int, name string) {
	c := ColumnRef{Name: name}
	if i > from {
		c.Qualifier = p.ident(p.toks[i-2])
		c.Excluded = strings.EqualFold(c.Qualifier, "excluded")
	}
	e.Columns = append(e.Columns, c)
	if c.Excluded {
		e.has |= hasExcluded
	} else {
		e.has |= hasColumn
	}
}

// scanCall notes a function; its arguments are scanned by the caller, except where they mean something else.
func (p *parser) scanCall(e *Expr, from, i int, name string) int {
	switch {
	case name == "values" && p.tokAt(i+3).kind == tokClose && p.isName(i+2):
		e.Columns = append(e.Columns, ColumnRef{Name: p.ident(p.toks[i+2]), Excluded: true})
		e.has |= hasExcluded
		return i + 4
	case i > from && p.isWord(from, "sqlc") && (name == "arg" || name == "narg" || name == "slice"):
		if n := p.tokAt(i + 2); n.kind == tokWord || n.kind == tokString {
			e.Params = append(e.Params, Param{Style: Named, Name: strings.Trim(p.src(n), "'"), Offset: p.base + int(n.lo)})
			e.has |= hasParam
		}
		return p.after(i + 1)
	case isRandomFunc(name, p.isEmpty(i+1)):
		e.has |= hasRandom
	case isNowFunc(name), takesNow(name) && p.saysNow(i+1):
		e.has |= hasNow
	}
	return i + 1
}
