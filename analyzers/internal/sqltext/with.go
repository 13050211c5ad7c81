package sqltext

import "strings"

// with reads WITH and the statement it belongs to, which becomes the statement itself.
func (p *parser) with() Kind {
	st := p.st
	p.i++
	p.accept(kwRecursive)
	for {
		if !p.isName(p.i) {
			return Unknown
		}
		cte := CTE{Name: p.ident(p.toks[p.i])}
		p.i++
		p.group()
		if !p.accept(kwAs) {
			return Unknown
		}
		p.accept(kwNot)
		p.accept(kwMaterialized)
		lo, hi, ok := p.group()
		if !ok || lo == hi {
			return Unknown
		}
		if inner := new(Statement); lo < hi {
			p.read(inner, lo, hi)
			cte.Stmt = inner
		}
		st.With = append(st.With, cte)
		p.searchClause()
		if p.tok().kind != tokComma {
			break
		}
		p.i++
	}
	p.holes()
	if p.i == p.end {
		st.Open = true
		return Unknown
	}
	return p.first()
}

// searchClause passes over SEARCH ... SET c and CYCLE ... SET c ... USING c of a recursive entry.
func (p *parser) searchClause() {
	for p.isWord(p.i, "search") || p.isWord(p.i, "cycle") {
		p.i = min(p.seek(p.i, func(_ int, t token) bool { return t.kw == kwSet })+2, p.end)
		for p.i < p.end && !p.isKw(p.i, kwUsing) && p.tok().kind != tokComma && !p.startsMain(p.i) {
			p.i++
		}
		if p.accept(kwUsing) {
			p.i = min(p.i+1, p.end)
		}
	}
}

// startsMain tells words with which the statement after WITH can start, or another clause of the entry.
func (p *parser) startsMain(i int) bool {
	switch p.toks[i].kw {
	case kwSelect, kwInsert, kwUpdate, kwDelete, kwMerge, kwValues, kwTable:
		return true
	}
	return p.isOpen(i) || p.isWord(i, "cycle")
}

// CTE finds the entry of WITH that has a name.
func (s *Statement) CTE(name string) *Statement {
	for _, c := range s.With {
		if strings.EqualFold(c.Name, name) {
			return c.Stmt
		}
	}
	return nil
}

// Parts are the statement itself and every data-modifying entry of its WITH, those first, in order.
func (s *Statement) Parts() []*Statement {
	var out []*Statement
	for _, c := range s.With {
		if c.Stmt != nil && c.Stmt.Kind.writes() {
			out = append(out, c.Stmt)
		}
	}
	return append(out, s)
}

func (k Kind) writes() bool {
	switch k {
	case Insert, Update, Delete, Merge:
		return true
	}
	return false
}

// Writes tells whether the statement or an entry of its WITH changes rows.
func (s *Statement) Writes() bool {
	if s.Kind.writes() || s.Kind == Truncate {
		return true
	}
	return len(s.Parts()) > 1
}

// ReadsFrom tells whether the statement does nothing without a row of the CTE or table of that name: it stands in
// FROM or USING and must match, or in WHERE EXISTS (SELECT ... FROM name) or WHERE c IN (SELECT ... FROM name).
func (s *Statement) ReadsFrom(name string) bool {
	return s.readsFrom(name, mostDepth)
}

func (s *Statement) readsFrom(name string, depth int) bool {
	if depth == 0 {
		return false
	}
	if s.Source != nil {
		return s.Source.readsFrom(name, depth-1) && !s.Source.aggregates()
	}
	for _, f := range s.From {
		switch {
		case f.Outer:
		case strings.EqualFold(f.Table.Name, name) && f.Table.Schema == "":
			return true
		case f.Sub != nil && f.Sub.readsFrom(name, depth-1) && !f.Sub.aggregates():
			return true
		}
	}
	for _, c := range s.Where.Conds {
		if (c.Op == Exists || c.Op == In || c.Op == Equal) && c.Sub != nil && c.Sub.readsFrom(name, depth-1) {
			return true
		}
	}
	return false
}

// aggregates tells whether a query without GROUP BY yields a row even when it reads none: SELECT count(*) FROM mark.
func (s *Statement) aggregates() bool {
	for _, o := range s.Outputs {
		switch o.Value.Func {
		case "count", "sum", "min", "max", "avg", "array_agg", "json_agg", "jsonb_agg", "string_agg", "bool_or", "bool_and":
			return true
		}
	}
	return len(s.Arms) > 0
}
