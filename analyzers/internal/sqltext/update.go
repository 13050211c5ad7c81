package sqltext

import "strings"

func endsSet(_ int, t token) bool {
	switch t.kw {
	case kwWhere, kwFrom, kwReturning, kwOrder, kwLimit, kwOn:
		return true
	}
	return false
}

// update reads UPDATE, of one table or, as MySQL has it, of several joined.
func (p *parser) update() Kind {
	st := p.st
	p.i++
	p.accept(kwLowPriority)
	p.accept(kwIgnore)
	if p.isKw(p.i, kwOr) {
		p.i = min(p.i+2, p.end) // SQLite: OR IGNORE, OR REPLACE
	}
	p.accept(kwOnly)
	var ok bool
	if st.Table, ok = p.name(); !ok {
		return Unknown
	}
	if p.isOp(p.i, "*") {
		p.i++
	}
	st.Alias = p.alias()
	set := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwSet })
	if set > p.i && set < p.end && !p.allHoles(p.i, set) {
		p.joined(set)
	}
	if set == p.end {
		// Cut off before SET: a builder's first piece, if nothing else is left.
		st.Open, st.Cut = true, true
		p.holes()
		if p.i == p.end {
			return Update
		}
		return Unknown
	}
	p.within(p.i, set, p.holes)
	p.i = set + 1
	end := p.seek(p.i, p.endsUpdateSet)
	st.Set = p.assignments(p.i, end)
	if len(st.Set) == 0 {
		st.Open = true
	}
	p.i = end
	if p.accept(kwFrom) {
		end := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwWhere || t.kw == kwReturning })
		p.tables(p.i, end)
		p.i = end
	}
	p.tail()
	p.markSelf(st.Set, false)
	return Update
}

func (p *parser) allHoles(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if p.toks[i].kind != tokHole {
			return false
		}
	}
	return true
}

// endsUpdateSet ends the assignments; IS DISTINCT FROM does not.
func (p *parser) endsUpdateSet(i int, t token) bool {
	return endsSet(i, t) && !(t.kw == kwFrom && p.isDistinctFrom(i)) && t.kw != kwOn
}

// joined reads the further tables of MySQL's UPDATE a JOIN b ON ... SET.
func (p *parser) joined(end int) {
	p.tables(p.i, end)
	p.i = end
}

// deletion reads DELETE.
func (p *parser) deletion() Kind {
	st := p.st
	p.i++
	for p.accept(kwLowPriority) || p.acceptWord("quick") || p.accept(kwIgnore) {
	}
	target := ""
	if !p.isKw(p.i, kwFrom) && p.isName(p.i) { // MySQL: DELETE t FROM t JOIN ...
		n, _ := p.name()
		target = n.Name
	}
	if !p.accept(kwFrom) {
		return Unknown
	}
	p.accept(kwOnly)
	var ok bool
	if st.Table, ok = p.name(); !ok {
		return Unknown
	}
	if p.isOp(p.i, "*") {
		p.i++
	}
	as := p.isKw(p.i, kwAs)
	st.Alias = p.alias()
	if st.Alias != "" && !as && p.i == p.end && len(st.With) == 0 {
		return Unknown // "delete from the list"
	}
	end := p.seek(p.i, func(_ int, t token) bool { return endsSet(0, t) && t.kw != kwOn || t.kw == kwUsing })
	if target != "" && end > p.i {
		p.tables(p.i, end)
		p.i = end
		for _, f := range st.From {
			if strings.EqualFold(f.Alias, target) {
				st.Table, st.Alias = f.Table, f.Alias
			}
		}
	}
	p.holes()
	if p.accept(kwUsing) {
		end := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwWhere || t.kw == kwReturning })
		p.tables(p.i, end)
		p.i = end
	}
	p.tail()
	return Delete
}

// tail reads what ends an UPDATE or DELETE: WHERE, ORDER BY, LIMIT, RETURNING.
func (p *parser) tail() {
	st := p.st
	p.holes()
	if p.accept(kwWhere) {
		end := p.seek(p.i, p.endsWhere)
		st.Where = p.where(p.i, end)
		p.i = end
	}
	if p.accept(kwOrder, kwBy) {
		p.i = p.seek(p.i, func(_ int, t token) bool { return t.kw == kwLimit || t.kw == kwReturning })
	}
	if p.accept(kwLimit) {
		st.Limit = true
		p.i = p.seek(p.i, func(_ int, t token) bool { return t.kw == kwReturning })
	}
	p.holes()
	p.returning()
}

// endsWhere ends a condition of an UPDATE or DELETE.
func (p *parser) endsWhere(i int, t token) bool {
	return t.kw == kwReturning || t.kw == kwOrder && p.isKw(i+1, kwBy) || t.kw == kwLimit
}

// assignments reads the list after SET.
func (p *parser) assignments(lo, hi int) []Assignment {
	var out []Assignment
	p.commas(lo, hi, func(lo, hi int) {
		eq := p.seek(lo, func(i int, t token) bool {
			return t.kind == tokOp && (p.src(t) == "=" || p.src(t) == ":=")
		})
		switch {
		case eq == hi:
			if p.allHoles(lo, hi) {
				out = append(out, Assignment{Column: string(rune(Hole)), Value: p.expr(lo, hi)})
				p.st.Open = true
			}
		case p.isOpen(lo) && p.after(lo) == eq:
			out = p.rowAssignment(out, lo, eq, hi)
		default:
			// "n = $1 %s": the trailing piece may be a further assignment.
			end := hi
			for end > eq+2 && p.toks[end-1].kind == tokHole && p.toks[end-2].kind != tokOp {
				end--
				p.st.Open = true
			}
			out = append(out, p.assigned(p.target(lo, eq), p.expr(eq+1, end)))
			if end < hi {
				out = append(out, Assignment{Column: string(rune(Hole)), Value: p.expr(end, hi)})
			}
		}
	})
	return out
}

func (p *parser) assigned(column string, e Expr) Assignment {
	p.use(e, Use{Role: InSet, Column: column, Table: p.st.Table})
	return Assignment{Column: column, Value: e}
}

// rowAssignment reads (a, b) = (1, 2), = ROW(1, 2) and = (SELECT ...).
func (p *parser) rowAssignment(out []Assignment, lo, eq, hi int) []Assignment {
	clo, chi := p.inside(lo)
	cols := p.targets(clo, chi)
	r := eq + 1
	if p.isKw(r, kwRow) {
		r++
	}
	var vals []Expr
	if p.isOpen(r) && p.after(r) == hi && !p.startsQuery(r+1) {
		vlo, vhi := p.inside(r)
		p.commas(vlo, vhi, func(lo, hi int) { vals = append(vals, p.expr(lo, hi)) })
	}
	if len(vals) != len(cols) {
		whole := p.expr(eq+1, hi)
		vals = vals[:0]
		for range cols {
			vals = append(vals, whole)
		}
	}
	for i, c := range cols {
		out = append(out, p.assigned(c, vals[i]))
	}
	return out
}

// markSelf finds the assignments whose value depends on a column the same statement sets. In the SET of a conflict
// clause any column that is not EXCLUDED's is the target's.
func (p *parser) markSelf(set []Assignment, conflict bool) {
	target := func(q string) bool {
		name := p.st.Alias
		if name == "" {
			name = p.st.Table.Name
		}
		return q == "" || conflict || strings.EqualFold(q, name)
	}
	names := make(map[string]bool, len(set))
	for _, a := range set {
		names[strings.ToLower(a.Column)] = true
	}
	for i := range set {
		for _, c := range set[i].Value.Columns {
			if !c.Excluded && target(c.Qualifier) && names[strings.ToLower(c.Name)] {
				set[i].Self = !set[i].Value.settles(set[i].Column, names)
			}
		}
	}
}
