package sqltext

// insert reads INSERT and REPLACE.
func (p *parser) insert() Kind {
	st := p.st
	replace := p.tok().kw == kwReplace
	p.i++
	if replace {
		st.Conflict.Action = ReplaceRow
	}
	into := p.insertModifiers()
	into = p.accept(kwInto) || into
	p.accept(kwTable)
	if !into && !replace {
		return Unknown
	}
	var ok bool
	if st.Table, ok = p.name(); !ok {
		return Unknown
	}
	if p.isKw(p.i, kwAs) {
		st.Alias = p.alias()
	}
	if p.accept(kwPartition) {
		p.group()
	}
	if !p.insertColumns() {
		return Unknown
	}
	if p.accept(kwOverriding) {
		p.i = min(p.i+2, p.end) // SYSTEM VALUE, USER VALUE
	}
	p.clickHouse()
	p.holes()
	if !p.insertRows() {
		return Unknown
	}
	p.holes()
	p.conflict()
	p.holes()
	p.returning()
	p.useInserted()
	return Insert
}

// insertModifiers reads what stands between INSERT and INTO, and tells whether it makes INTO dispensable.
func (p *parser) insertModifiers() bool {
	c := &p.st.Conflict
	ignore := false
	for {
		lo := p.tok().lo
		switch {
		case p.accept(kwLowPriority), p.accept(kwHighPriority), p.accept(kwDelayed):
			continue
		case p.accept(kwIgnore), p.accept(kwOr, kwIgnore):
			c.Action, ignore = Ignore, true
		case p.accept(kwOr, kwReplace):
			c.Action = ReplaceRow
		case p.isKw(p.i, kwOr) && p.i+1 < p.end:
			p.i += 2 // OR ABORT, OR FAIL, OR ROLLBACK
			continue
		default:
			return ignore
		}
		c.Offset = p.base + int(lo)
		c.Line = p.lineOf(c.Offset)
	}
}

// clickHouse passes over SETTINGS name = value, ... and takes FORMAT for rows that are not in the text.
func (p *parser) clickHouse() {
	if p.acceptWord("settings") {
		p.i = p.seek(p.i, func(i int, t token) bool { return t.kw == kwValues || t.kw == kwSelect || p.isWord(i, "format") })
	}
	if p.acceptWord("format") {
		p.st.Open = true
		p.i = p.end
	}
}

// insertColumns reads the list of columns, if there is one.
func (p *parser) insertColumns() bool {
	if !p.isOpen(p.i) || p.startsQuery(p.i+1) {
		return true
	}
	lo, hi, _ := p.group()
	p.st.Columns = p.targets(lo, hi)
	for _, c := range p.st.Columns {
		if c == "" {
			return false
		}
	}
	return true
}

// startsQuery tells whether a query begins at i, perhaps in further brackets.
func (p *parser) startsQuery(i int) bool {
	for n := 0; p.isOpen(i) && n < mostDepth; n++ {
		i++
	}
	return p.isKw(i, kwSelect) || p.isKw(i, kwWith) || p.isKw(i, kwValues) && p.isOpen(i+1) ||
		p.isKw(i, kwTable) && p.isName(i+1)
}

// insertRows reads VALUES, DEFAULT VALUES, SET or a query.
func (p *parser) insertRows() bool {
	st := p.st
	switch {
	case p.i == p.end:
		st.Open, st.Cut = true, true
		return true
	case p.accept(kwDefault, kwValues):
		return true
	case p.accept(kwValues), p.acceptWord("value"):
		p.values()
		return true
	case p.accept(kwSet):
		end := p.seek(p.i, endsSet)
		row := []Expr{}
		uses := len(*p.uses)
		set := p.assignments(p.i, end)
		*p.uses = (*p.uses)[:uses] // useInserted notes them
		for _, a := range set {
			st.Columns = append(st.Columns, a.Column)
			row = append(row, a.Value)
		}
		st.Rows = [][]Expr{row}
		p.i = end
		return len(row) > 0
	case p.isKw(p.i, kwOn), p.isKw(p.i, kwReturning):
		return st.Open // the rows are in a hole that has been passed over
	case p.startsQuery(p.i) || p.isKw(p.i, kwTable):
		var joins conditions
		end := p.seek(p.i, func(i int, t token) bool {
			return t.kw == kwReturning || joins.ended(p, i, t)
		})
		st.Source = p.sub(p.i, end)
		if st.Source != nil && st.Source.Open {
			st.Open = true
		}
		p.i = end
		return st.Source != nil
	case st.Open:
		return true
	}
	return false
}

// conditions counts the JOINs of a query's FROM that still wait for their ON or USING, which is how PostgreSQL's grammar
// tells ON conflict, the condition of a join by a column of that name, from the ON CONFLICT behind the query.
type conditions struct {
	from    bool
	waiting int
}

// ended takes the next token outside brackets and tells whether the clause begins there.
func (c *conditions) ended(p *parser, i int, t token) bool {
	if p.tokAt(i-1).kind == tokDot || p.isKw(i-1, kwAs) {
		return false
	}
	switch t.kw {
	case kwFrom:
		*c = conditions{from: true}
	case kwWhere, kwGroup, kwHaving, kwWindow, kwUnion, kwExcept, kwIntersect, kwOrder, kwLimit, kwOffset, kwFetch, kwFor:
		*c = conditions{}
	case kwJoin:
		if c.from && p.isJoin(i) {
			c.waiting++
		}
	case kwUsing:
		c.waiting = max(c.waiting-1, 0)
	case kwOn:
		if p.isKw(i+1, kwDuplicate) && p.isKw(i+2, kwKey) || p.isKw(i+1, kwConflict) && (c.waiting == 0 || p.hasAction(i+2)) {
			return true
		}
		c.waiting = max(c.waiting-1, 0)
	}
	return false
}

// isJoin tells a JOIN that needs a condition.
func (p *parser) isJoin(i int) bool {
	if p.isKw(i-1, kwCross) {
		return false
	}
	for i--; p.isKw(i, kwLeft) || p.isKw(i, kwRight) || p.isKw(i, kwFull) || p.isKw(i, kwInner) || p.isKw(i, kwOuter); i-- {
	}
	return !p.isKw(i, kwNatural) && (p.endsOperand(i) || p.isOp(i, "*"))
}

// hasAction tells DO behind the target of a conflict clause: no join has one, and where a piece of the query is not
// known, the condition of a join can be in it.
func (p *parser) hasAction(i int) bool {
	if p.isOpen(i) {
		i = p.after(i)
	}
	return p.isKw(i, kwDo)
}

// values reads the rows after VALUES.
func (p *parser) values() {
	st := p.st
	for {
		p.holes()
		p.acceptRow()
		lo, hi, ok := p.group()
		if !ok {
			break
		}
		if len(st.Rows) == MaxRows {
			st.MoreRows = true
		} else {
			row := make([]Expr, 0, len(st.Columns))
			p.commas(lo, hi, func(lo, hi int) { row = append(row, p.expr(lo, hi)) })
			st.Rows = append(st.Rows, row)
		}
		if p.tok().kind != tokComma {
			break
		}
		p.i++
	}
	if len(st.Rows) == 0 {
		st.Open = true
	}
}

// acceptRow passes over the ROW of MySQL's VALUES ROW(1, 2).
func (p *parser) acceptRow() {
	if p.isKw(p.i, kwRow) && p.isOpen(p.i+1) {
		p.i++
	}
}

// conflict reads ON CONFLICT and ON DUPLICATE KEY UPDATE.
func (p *parser) conflict() {
	c := &p.st.Conflict
	row := ""
	if p.isKw(p.i, kwAs) { // MySQL: VALUES (...) AS new(a, b) ON DUPLICATE KEY UPDATE
		row = p.alias()
		p.group()
	}
	lo := p.tok().lo
	duplicate := p.accept(kwOn, kwDuplicate, kwKey, kwUpdate)
	if !duplicate && !p.accept(kwOn, kwConflict) {
		return
	}
	c.Offset = p.base + int(lo)
	c.Line = p.lineOf(c.Offset)
	if duplicate {
		c.Action = DoUpdate
		end := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwReturning })
		c.Set = p.assignments(p.i, end)
		p.i = end
		p.excludeRow(row)
		if keepsRow(c.Set) {
			c.Action = Ignore
		}
	} else {
		p.onConflict()
	}
	p.markSelf(c.Set, true)
}

// keepsRow tells MySQL's way of doing nothing: ON DUPLICATE KEY UPDATE id = id.
func keepsRow(set []Assignment) bool {
	for _, a := range set {
		if !a.Value.isColumn(a.Column) {
			return false
		}
	}
	return len(set) > 0
}

// onConflict reads what follows ON CONFLICT.
func (p *parser) onConflict() {
	c := &p.st.Conflict
	if p.accept(kwOn, kwConstraint) {
		if p.isName(p.i) {
			c.Constraint = p.ident(p.toks[p.i])
			p.i++
		}
	} else if lo, hi, ok := p.group(); ok {
		c.Columns = p.names(lo, hi)
	}
	if p.accept(kwWhere) {
		c.TargetWhere = true
		end := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwDo })
		p.where(p.i, end)
		p.i = end
	}
	switch {
	case p.accept(kwDo, kwNothing):
		c.Action = DoNothing
	case p.accept(kwDo, kwUpdate):
		c.Action = DoUpdate
		if p.accept(kwSet) {
			end := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwWhere || t.kw == kwReturning })
			c.Set = p.assignments(p.i, end)
			p.i = end
		}
		if p.accept(kwWhere) {
			end := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwReturning })
			c.Where = p.where(p.i, end)
			p.i = end
		}
	default:
		c.Action = UnseenAction
		p.st.Open = true
	}
}

// excludeRow makes the columns of MySQL's row alias what EXCLUDED is elsewhere.
func (p *parser) excludeRow(row string) {
	if row == "" {
		return
	}
	set := p.st.Conflict.Set
	for i := range set {
		set[i].Value.exclude(row)
	}
}

// returning reads RETURNING and whatever follows it to the end.
func (p *parser) returning() {
	if !p.accept(kwReturning) {
		return
	}
	end := p.seek(p.i, func(_ int, t token) bool { return t.kw == kwInto && t.kind == tokWord })
	p.commas(p.i, end, func(lo, hi int) {
		o := p.output(lo, hi)
		p.use(o.Value, Use{Role: InOther})
		p.st.Returning = append(p.st.Returning, o.Name)
	})
	p.i = p.end
}

// useInserted notes into which columns the parameters of the rows go.
func (p *parser) useInserted() {
	st := p.st
	for _, row := range st.Rows {
		for i, e := range row {
			p.use(e, Use{Role: InInsert, Column: columnAt(st.Columns, i), Table: st.Table})
		}
	}
	if st.Source == nil {
		return
	}
	for i, o := range st.Source.Outputs {
		p.use(p.resolve(o.Value, st.Source), Use{Role: InInsert, Column: columnAt(st.Columns, i), Table: st.Table})
	}
}

func columnAt(cols []string, i int) string {
	if i < len(cols) {
		return cols[i]
	}
	return ""
}
