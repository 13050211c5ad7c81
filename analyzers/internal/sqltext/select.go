package sqltext

import "strings"

// sub reads a query nested in the statement; nil when it is none or lies too deep.
func (p *parser) sub(lo, hi int) *Statement {
	if lo >= hi {
		return nil
	}
	st := new(Statement)
	p.read(st, lo, hi)
	if st.Kind == Unknown {
		return nil
	}
	p.st.subs = append(p.st.subs, st)
	return st
}

// query reads SELECT, VALUES or TABLE, perhaps in brackets, and the arms after UNION and its like.
func (p *parser) query() Kind {
	switch t := p.tok(); {
	case t.kind == tokOpen:
		if !p.startsQuery(p.i + 1) {
			return Unknown
		}
		lo, hi, _ := p.group()
		p.bracketed(lo, hi)
		p.arms()
		p.queryTail()
		return p.st.Kind
	case t.kw == kwValues:
		p.i++
		if !p.isOpen(p.i) {
			return Unknown
		}
		p.values()
		for _, row := range p.st.Rows {
			for _, e := range row {
				p.use(e, Use{Role: InOther})
			}
		}
		p.arms()
		p.queryTail()
		return Select
	case t.kw == kwTable:
		p.i++
		n, ok := p.name()
		if !ok {
			return Unknown
		}
		p.st.From = append(p.st.From, TableRef{Table: n})
		p.st.Outputs = []Output{{Name: "*"}}
		p.arms()
		p.queryTail()
		return Select
	}
	return p.selection()
}

// bracketed reads the query inside brackets into this very statement.
func (p *parser) bracketed(lo, hi int) {
	if p.depth++; p.depth <= mostDepth {
		p.within(lo, hi, func() {
			if p.isKw(lo, kwWith) {
				p.st.Kind = p.with()
			} else {
				p.st.Kind = p.query()
			}
		})
	}
	p.depth--
}

// endsOutputs ends a SELECT's list.
func (p *parser) endsOutputs(i int, t token) bool {
	switch t.kw {
	case kwFrom:
		return !p.isDistinctFrom(i) && !p.isWord(i-1, "rows")
	case kwInto, kwWhere, kwHaving, kwUnion, kwExcept, kwIntersect:
		return true
	case kwFetch, kwWindow, kwLimit, kwOffset:
		// MySQL and SQLite have columns of these names.
		if i+1 >= p.end {
			return false
		}
		behind := i > p.i && (p.endsOperand(i-1) || p.isLabel(i-1))
		star := i > p.i && p.isOp(i-1, "*") // SELECT *, FROM t *, or a product
		all := star && (i-1 == p.i || !p.endsOperand(i-2))
		return (behind || all) && p.toks[i+1].kind == tokOp || (behind || star || i == p.i) && p.startsOperand(i+1)
	case kwGroup, kwOrder:
		return p.isKw(i+1, kwBy)
	case kwFor:
		return p.isKw(i+1, kwUpdate) || p.isKw(i+1, kwShare) || p.isWord(i+1, "no") || p.isKw(i+1, kwKey)
	}
	return false
}

// isDistinctFrom tells the FROM of IS DISTINCT FROM.
func (p *parser) isDistinctFrom(i int) bool {
	return p.isKw(i-1, kwDistinct) && (p.isKw(i-2, kwIs) || p.isKw(i-2, kwNot))
}

// isLabel tells a reserved word that names the output before it without AS, which PostgreSQL lets most of them do, and the
// word behind an output that ends an ORDER BY. The words that go on with an expression or a CASE are none.
func (p *parser) isLabel(i int) bool {
	if i <= 0 || p.toks[i].kind != tokWord || !p.endsOperand(i-1) {
		return false
	}
	switch k := p.toks[i].kw; k {
	case kwArray, kwAs, kwFor, kwOn, kwTo, kwWith, kwFetch, kwWindow, kwLimit, kwOffset:
		return false
	default:
		return k.reserved() && !k.joins()
	}
}

func (p *parser) startsOperand(i int) bool {
	switch t := p.toks[i]; t.kind {
	case tokOp, tokDot, tokComma, tokClose:
		return false
	case tokWord:
		return !t.kw.reserved() && !p.startsOperator(i) || t.kw == kwAll || t.kw == kwNull || t.kw == kwCase
	}
	return true
}

// selection reads one SELECT and what follows it.
func (p *parser) selection() Kind {
	st := p.st
	if !p.accept(kwSelect) {
		return Unknown
	}
	p.accept(kwAll)
	if p.accept(kwDistinct) && p.accept(kwOn) {
		p.group()
	}
	end := p.seek(p.i, p.endsOutputs)
	p.commas(p.i, end, func(lo, hi int) { st.Outputs = append(st.Outputs, p.output(lo, hi)) })
	p.i = end
	if p.accept(kwInto) {
		p.i = p.seek(p.i, p.endsOutputs)
	}
	if p.accept(kwFrom) {
		end := p.seek(p.i, p.endsOutputs)
		p.tables(p.i, end)
		p.i = end
	}
	p.holes()
	if p.accept(kwWhere) {
		end := p.seek(p.i, p.endsOutputs)
		st.Where = p.where(p.i, end)
		p.i = end
	}
	if p.isKw(p.i, kwGroup) || p.isKw(p.i, kwHaving) || p.isKw(p.i, kwWindow) {
		end := p.seek(p.i+1, func(i int, t token) bool {
			return p.endsOutputs(i, t) && t.kw != kwHaving && t.kw != kwWindow && t.kw != kwGroup
		})
		p.other(p.i, end)
		p.i = end
	}
	p.arms()
	p.queryTail()
	return p.calls()
}

// arms reads UNION, INTERSECT and EXCEPT with the queries behind them.
func (p *parser) arms() {
	for p.isKw(p.i, kwUnion) || p.isKw(p.i, kwExcept) || p.isKw(p.i, kwIntersect) {
		p.i++
		p.accept(kwAll)
		p.accept(kwDistinct)
		end := p.seek(p.i, func(i int, t token) bool {
			switch t.kw {
			case kwUnion, kwExcept, kwIntersect:
				return true
			}
			return false
		})
		// The last arm takes the ORDER BY and LIMIT of the whole with it; that they are there is what counts.
		if arm := p.sub(p.i, end); arm != nil {
			p.st.Arms = append(p.st.Arms, arm)
			p.st.Limit = p.st.Limit || arm.Limit && end == p.end
		}
		p.i = end
	}
}

// queryTail reads ORDER BY, LIMIT, OFFSET, FETCH and the locking clause.
func (p *parser) queryTail() {
	st := p.st
	for p.i < p.end {
		switch {
		case p.isKw(p.i, kwLimit), p.isKw(p.i, kwFetch):
			st.Limit = true
		case p.isKw(p.i, kwFor):
			st.Locks = true
		case p.toks[p.i].kind == tokHole:
			st.Open = true
		}
		end := p.seek(p.i+1, func(i int, t token) bool {
			switch t.kw {
			case kwLimit, kwFetch, kwOffset:
				return true
			case kwFor:
				return p.endsOutputs(i, t)
			}
			return t.kind == tokHole
		})
		p.other(p.i+1, end)
		p.i = end
	}
}

// other notes the parameters and subselects of a stretch that says nothing the rules ask about.
func (p *parser) other(lo, hi int) {
	if lo < hi {
		p.expr(lo, hi)
	}
}

// output reads one entry of a SELECT's or RETURNING's list.
func (p *parser) output(lo, hi int) Output {
	o, end := Output{}, hi
	if hi-lo >= 2 {
		last, before := p.toks[hi-1], p.toks[hi-2]
		named := last.kind == tokWord && !last.kw.reserved() || last.kind == tokQuoted
		switch {
		case before.kw == kwAs && hi-lo >= 3:
			o.Name, end = p.ident(last), hi-2
		case last.kind == tokWord && before.kind == tokString && hi-lo >= 3 && p.isKw(hi-3, kwInterval):
		case named && p.endsOperand(hi-2):
			o.Name, end = p.ident(last), hi-1
		}
	}
	if end == lo+1 && p.isOp(lo, "*") || end == lo+3 && p.isOp(lo+2, "*") && p.toks[lo+1].kind == tokDot {
		return Output{Name: "*"}
	}
	if at, not := p.existsAt(lo, end); at >= 0 && p.st.Exists == nil {
		before := len(p.st.subs)
		o.Value = p.expr(lo, end)
		if len(p.st.subs) > before && (p.st.Kind == Select || p.st.Kind == Unknown) {
			p.st.Exists, p.st.NotExists = p.st.subs[before], not
		}
	} else {
		o.Value = p.expr(lo, end)
	}
	if o.Name == "" && o.Value.Class == ColumnExpr {
		o.Name = o.Value.Column.Name
	}
	return o
}

// existsAt finds EXISTS ( outside brackets.
func (p *parser) existsAt(lo, hi int) (at int, not bool) {
	for i := lo; i < hi; i = p.after(i) {
		if p.isKw(i, kwExists) && p.isOpen(i+1) {
			return i, i > lo && p.isKw(i-1, kwNot)
		}
	}
	return -1, false
}

// tables reads the list after FROM or USING.
func (p *parser) tables(lo, hi int) {
	p.within(lo, hi, func() {
		outer := false
		for p.i < p.end {
			p.table(outer)
			end := p.seek(p.i, func(_ int, t token) bool { return t.kind == tokComma || t.kw == kwJoin })
			outer = p.joinSide(p.i, end)
			p.joinConditions(p.i, end)
			p.i = end + 1
		}
	})
}

// joinSide tells whether the table after toks[lo:hi], which end before JOIN, need not match, and marks those before
// it that need not.
func (p *parser) joinSide(lo, hi int) bool {
	left, right := false, false
	for i := max(lo, hi-3); i < hi; i++ {
		switch p.toks[i].kw {
		case kwLeft:
			left = true
		case kwRight:
			right = true
		case kwFull:
			left, right = true, true
		}
	}
	if right {
		for i := range p.st.From {
			p.st.From[i].Outer = true
		}
	}
	return left
}

// joinConditions reads ON ... between two tables, for the parameters in it.
func (p *parser) joinConditions(lo, hi int) {
	p.within(lo, hi, func() {
		on := p.seek(lo, func(_ int, t token) bool { return t.kw == kwOn })
		if on == hi {
			return
		}
		for hi > on+1 {
			switch p.toks[hi-1].kw {
			case kwLeft, kwRight, kwFull, kwInner, kwOuter, kwCross, kwNatural:
				hi--
				continue
			}
			break
		}
		if on+1 < hi {
			p.where(on+1, hi)
		}
	})
}

// table reads one table, function or subselect of FROM.
func (p *parser) table(outer bool) {
	p.accept(kwLateral)
	p.accept(kwOnly)
	ref := TableRef{Outer: outer}
	switch {
	case p.isOpen(p.i):
		lo, hi, _ := p.group()
		if !p.startsQuery(lo) {
			if p.depth++; p.depth <= mostDepth {
				p.tables(lo, hi)
			}
			p.depth--
			return
		}
		ref.Sub = p.sub(lo, hi)
	case p.isWord(p.i, "rows") && p.isKw(p.i+1, kwFrom):
		p.i += 2
		ref.Func = "rows from"
		lo, hi, _ := p.group()
		p.other(lo, hi)
	case p.isName(p.i) || p.isKw(p.i, kwArray):
		ref.Table, _ = p.name()
		if lo, hi, ok := p.group(); ok {
			ref.Func = strings.ToLower(ref.Table.Name)
			ref.Table = Name{}
			p.commas(lo, hi, func(lo, hi int) { ref.Args = append(ref.Args, p.expr(lo, hi)) })
		}
	default:
		return
	}
	if p.isOp(p.i, "*") {
		p.i++
	}
	p.acceptWord("with", "ordinality")
	if p.isKw(p.i, kwUsing) || p.isKw(p.i, kwOn) {
		p.st.From = append(p.st.From, ref)
		return
	}
	ref.Alias = p.alias()
	if lo, hi, ok := p.group(); ok && ref.Alias != "" {
		ref.cols = p.names(lo, hi)
	}
	p.st.From = append(p.st.From, ref)
}

// resolve follows an output column to the expression it stands for in a subselect or in unnest($1), so that
// `SELECT u.id FROM unnest($1::uuid[]) AS u(id)` leads to $1.
func (p *parser) resolve(e Expr, q *Statement) Expr {
	for n := 0; n < mostDepth && e.Class == ColumnExpr; n++ {
		ref, ok := q.source(e.Column)
		if !ok {
			return e
		}
		switch {
		case ref.Func != "":
			for i, c := range ref.cols {
				if strings.EqualFold(c, e.Column.Name) && i < len(ref.Args) {
					return ref.Args[i]
				}
			}
			if len(ref.Args) == 1 && (len(ref.cols) == 0 || strings.EqualFold(ref.Alias, e.Column.Name)) {
				return ref.Args[0]
			}
			return e
		case ref.Sub != nil:
			q = ref.Sub
		default:
			return e
		}
		next, ok := q.output(e.Column.Name)
		if !ok {
			return e
		}
		e = next
	}
	return e
}

// source finds the entry of FROM a column comes from: by its qualifier, or because there is but one.
func (s *Statement) source(c ColumnRef) (TableRef, bool) {
	if c.Qualifier == "" && len(s.From) == 1 {
		return s.From[0], true
	}
	for _, f := range s.From {
		of := c.Qualifier
		if of == "" {
			of = c.Name // SELECT u FROM unnest($1) AS u
		}
		if strings.EqualFold(f.Alias, of) {
			return f, true
		}
	}
	return TableRef{}, false
}

func (s *Statement) output(name string) (Expr, bool) {
	for _, o := range s.Outputs {
		if strings.EqualFold(o.Name, name) {
			return o.Value, true
		}
	}
	return Expr{}, false
}
