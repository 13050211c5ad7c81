package sqltext

// merge reads MERGE INTO t USING s ON c WHEN ...
func (p *parser) merge() Kind {
	st := p.st
	p.i++
	if !p.accept(kwInto) {
		return Unknown
	}
	p.accept(kwOnly)
	var ok bool
	if st.Table, ok = p.name(); !ok {
		return Unknown
	}
	if !p.isKw(p.i, kwUsing) {
		st.Alias = p.alias()
	}
	if !p.accept(kwUsing) {
		return Unknown
	}
	on := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwOn })
	p.tables(p.i, on)
	p.i = on
	if !p.accept(kwOn) {
		return Unknown
	}
	when := func(i int, t token) bool { return t.kw == kwWhen && (p.isKw(i+1, kwMatched) || p.isKw(i+1, kwNot)) }
	end := p.seek(p.i, when)
	st.Where = p.where(p.i, end)
	p.i = end
	for p.accept(kwWhen) {
		end := p.seek(p.i, func(i int, t token) bool { return when(i, t) || t.kw == kwReturning })
		p.within(p.i, end, p.mergeWhen)
		p.i = end
	}
	p.returning()
	return Merge
}

// mergeWhen reads [NOT] MATCHED [BY ...] [AND condition] THEN action.
func (p *parser) mergeWhen() {
	st := p.st
	w := MergeWhen{Matched: !p.accept(kwNot)}
	p.accept(kwMatched)
	then := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwThen })
	if and := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwAnd }); and < then {
		w.Guarded = true
		p.within(and+1, then, func() { p.where(and+1, then) })
	}
	p.i = min(then+1, p.end)
	switch {
	case p.accept(kwUpdate, kwSet):
		w.Action = Update
		w.Set = p.assignments(p.i, p.end)
		p.markSelf(w.Set, false)
	case p.accept(kwInsert):
		w.Action = Insert
		if lo, hi, ok := p.group(); ok {
			w.Columns = p.names(lo, hi)
		}
		p.i = p.seek(p.i, func(_ int, t token) bool { return t.kw == kwValues })
		p.accept(kwValues)
		if lo, hi, ok := p.group(); ok {
			p.commas(lo, hi, func(lo, hi int) {
				e := p.expr(lo, hi)
				p.use(e, Use{Role: InInsert, Table: st.Table, Column: columnAt(w.Columns, len(w.Values))})
				w.Values = append(w.Values, e)
			})
		}
	case p.accept(kwDelete):
		w.Action = Delete
	default:
		w.Action = Other
	}
	st.When = append(st.When, w)
}
