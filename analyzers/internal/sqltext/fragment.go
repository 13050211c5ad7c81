package sqltext

// Query builders hand over pieces of statements: squirrel's Suffix, GORM's Where, sq.Expr. These are read here.

// fragment prepares a parser for a piece of a statement.
func fragment(text string) *parser {
	l := lex(text)
	st := &Statement{Text: text, Line: 1, Conflict: Conflict{Offset: -1}}
	return &parser{text: text, toks: l.toks, line: 1, st: st, uses: &st.uses, end: len(l.toks)}
}

// ParseSuffix reads what a builder appends to an INSERT: a conflict clause and RETURNING, either or both. ok tells
// that the text is nothing else.
func ParseSuffix(text string) (c Conflict, returning []string, ok bool) {
	p := fragment(text)
	p.st.Kind = Insert
	p.conflict()
	p.returning()
	return p.st.Conflict, p.st.Returning, p.i == p.end && len(p.toks) > 0
}

// ParseWhere reads a condition, without the word WHERE or with it.
func ParseWhere(text string) Where {
	p := fragment(text)
	p.accept(kwWhere)
	return p.where(p.i, p.end)
}

// ParseExpr reads one value.
func ParseExpr(text string) Expr {
	p := fragment(text)
	return p.expr(0, p.end)
}

// Equals are the conditions that ask a column to be equal to a value, a subselect apart.
func (w Where) Equals() []Cond {
	var out []Cond
	for _, c := range w.Conds {
		if c.Op == Equal && c.Column.Name != "" && c.Sub == nil {
			out = append(out, c)
		}
	}
	return out
}

// OnlyEquals tells whether the condition is nothing but such equalities, one at least.
func (w Where) OnlyEquals() bool {
	return len(w.Conds) > 0 && !w.Open && len(w.Equals()) == len(w.Conds)
}
