package sqltext

import (
	"strings"
)

// mostDepth bounds how deep subselects, brackets and embedded texts are followed. What lies deeper is not looked at,
// which keeps the time linear in the length of the text.
const mostDepth = 24

// Parse splits a text at its semicolons and recognises each statement. Empty statements are left out.
func Parse(text string) []Statement {
	return parseAt(text, 0, 1, 0)
}

// parseAt parses a text that starts at an offset and a line of an outer one.
func parseAt(text string, base, line, depth int) []Statement {
	if depth > mostDepth || len(text) >= 1<<31-1 {
		return nil
	}
	l := lex(text)
	p := &parser{text: text, toks: l.toks, base: base, at: base, line: line, depth: depth}
	var out []Statement
	lo, queries, controls := 0, l.queries, l.controls
	for i := 0; i <= len(l.toks); i++ {
		if i < len(l.toks) && l.toks[i].kind != tokSemi {
			continue
		}
		if i > lo {
			out = append(out, Statement{})
			st := &out[len(out)-1]
			if depth > 0 {
				p.statement(st, p.bodyStart(lo, i), i)
			} else {
				p.statement(st, lo, i)
			}
			for len(queries) > 0 && queries[0].next < i {
				if queries[0].next == lo {
					st.Query = queries[0].name
				}
				queries = queries[1:]
			}
			for len(controls) > 0 && controls[0] <= i {
				st.Open = true
				controls = controls[1:]
			}
		}
		lo = i + 1
	}
	return out
}

// A parser recognises statements in a run of tokens. It never backtracks further than a clause.
type parser struct {
	text string
	toks []token
	base int // offset of text in the text given to Parse

	at, line int // an offset and its line, from which other lines are counted

	st     *Statement // the statement being read
	uses   *[]Use     // where its parameters go, those of nested statements too
	i, end int        // the tokens still to read
	depth  int
}

// statement recognises toks[lo:hi] as one statement of the text.
func (p *parser) statement(st *Statement, lo, hi int) {
	p.uses = &st.uses
	p.read(st, lo, hi)
	if st.Kind == Unknown {
		*st = Statement{Text: st.Text, Offset: st.Offset, Line: st.Line}
		return
	}
	p.finishUses(st, lo, hi)
}

// read recognises a statement, perhaps one inside another, and puts the parser back where it was.
func (p *parser) read(st *Statement, lo, hi int) {
	outer, i, end := p.st, p.i, p.end
	defer func() { p.st, p.i, p.end = outer, i, end }()
	p.st, p.i, p.end = st, lo, hi
	first, last := p.toks[lo], p.toks[hi-1]
	st.Text = p.text[first.lo:last.hi]
	st.Offset = p.base + int(first.lo)
	st.Line = p.lineOf(st.Offset)
	st.Conflict.Offset = -1
	if p.depth++; p.depth <= mostDepth {
		p.dispatch()
		if p.endsOpen(last) {
			st.Open = true
		}
	}
	p.depth--
}

// endsOpen tells whether a token ends with a piece that may print anything.
func (p *parser) endsOpen(t token) bool {
	if t.kind == tokHole {
		return true
	}
	if t.kind != tokWord || !t.hole {
		return false
	}
	s := p.src(t)
	return s[len(s)-1] == Hole || s[len(s)-1] == '}' || strings.HasSuffix(s, "%s") || strings.HasSuffix(s, "%v")
}

// dispatch goes by the first word. What is left over after a statement makes it Unknown: prose that starts like SQL
// ("update orders: %w") is none.
func (p *parser) dispatch() {
	p.holes()
	if p.i >= p.end {
		return
	}
	kind := p.first()
	p.holes()
	if p.i < p.end && kind != Select && kind != Other && kind != Routine {
		kind = Unknown
	}
	p.st.Kind = kind
}

func (p *parser) first() Kind {
	t := p.toks[p.i]
	if t.kind == tokOpen {
		return p.query()
	}
	if t.kind != tokWord {
		return Unknown
	}
	switch t.kw {
	case kwWith:
		return p.with()
	case kwInsert, kwReplace:
		return p.insert()
	case kwUpdate:
		return p.update()
	case kwDelete:
		return p.deletion()
	case kwSelect, kwValues, kwTable:
		return p.query()
	case kwMerge:
		return p.merge()
	case kwCreate, kwAlter, kwDrop, kwTruncate:
		return p.definition(t.kw)
	}
	return p.control()
}

// control recognises what brackets other statements, and SQL that no rule asks about.
func (p *parser) control() Kind {
	t := p.toks[p.i]
	switch t.kw {
	case kwBegin, kwStart:
		return p.plain(Begin, "transaction", "work", "isolation", "read", "deferrable", "immediate", "exclusive", "deferred")
	case kwCommit, kwEnd:
		return p.plain(Commit, "transaction", "work", "and", "prepared")
	case kwRollback, kwAbort:
		return p.plain(Rollback, "to", "transaction", "work", "and", "prepared")
	case kwSavepoint:
		if p.end == p.i+2 {
			p.i = p.end
			return Savepoint
		}
		return Unknown
	case kwDo:
		return p.routine()
	case kwCall:
		return p.call()
	case kwExplain, kwSet, kwCopy:
		p.i = p.end
		return Other
	}
	if p.isWord(p.i, "execute") {
		return p.dynamic()
	}
	if p.isOneOf(p.i,
		"grant", "revoke", "comment", "analyze", "vacuum", "lock", "pragma", "use", "show", "listen", "notify",
		"reset", "refresh", "release", "reindex", "cluster", "discard", "prepare", "deallocate", "optimize") {
		p.i = p.end
		return Other
	}
	return Unknown
}

// plain takes a short statement whose second word, if there is one, is one of those given.
func (p *parser) plain(kind Kind, second ...string) Kind {
	p.i++
	if p.i == p.end {
		return kind
	}
	if p.isOneOf(p.i, second...) {
		p.i = p.end
		return kind
	}
	return Unknown
}

// tok gives the token at the position, a zero token at the end.
func (p *parser) tok() token { return p.tokAt(p.i) }

func (p *parser) tokAt(i int) token {
	if i >= p.end {
		return token{lo: int32(len(p.text)), hi: int32(len(p.text))}
	}
	return p.toks[i]
}

func (p *parser) src(t token) string { return p.text[t.lo:t.hi] }

func (p *parser) isKw(i int, k keyword) bool {
	return i >= 0 && i < p.end && p.toks[i].kind == tokWord && p.toks[i].kw == k
}

// isWord tells whether a token is that bare word, in any case.
func (p *parser) isWord(i int, w string) bool {
	return i >= 0 && i < p.end && p.toks[i].kind == tokWord && strings.EqualFold(p.src(p.toks[i]), w)
}

// isOneOf tells whether a token is one of the bare words, in any case.
func (p *parser) isOneOf(i int, words ...string) bool {
	for _, w := range words {
		if p.isWord(i, w) {
			return true
		}
	}
	return false
}

func (p *parser) isOp(i int, op string) bool {
	return i < p.end && p.toks[i].kind == tokOp && p.src(p.toks[i]) == op
}

func (p *parser) isOpen(i int) bool {
	return i >= 0 && i < p.end && p.toks[i].kind == tokOpen && p.text[p.toks[i].lo] == '('
}

// accept passes over keywords, all of them or none.
func (p *parser) accept(kws ...keyword) bool {
	for n, k := range kws {
		if !p.isKw(p.i+n, k) {
			return false
		}
	}
	p.i += len(kws)
	return true
}

func (p *parser) acceptWord(words ...string) bool {
	for n, w := range words {
		if !p.isWord(p.i+n, w) {
			return false
		}
	}
	p.i += len(words)
	return true
}

// holes passes over unknown pieces that stand where a clause could.
func (p *parser) holes() {
	for p.i < p.end && p.toks[p.i].kind == tokHole {
		p.st.Open = true
		p.i++
	}
}

// after gives the index behind the token at i, behind its closing bracket when it opens one.
func (p *parser) after(i int) int {
	if t := p.toks[i]; t.kind == tokOpen {
		if t.arg < 0 || int(t.arg) >= p.end {
			return p.end
		}
		return int(t.arg) + 1
	}
	return i + 1
}

// inside gives the tokens between the brackets that open at i. A bracket that is never closed leaves the statement
// open.
func (p *parser) inside(i int) (lo, hi int) {
	if t := p.toks[i]; t.arg >= 0 && int(t.arg) < p.end {
		return i + 1, int(t.arg)
	}
	p.st.Open = true
	return i + 1, p.end
}

// group passes over the brackets at the position.
func (p *parser) group() (lo, hi int, ok bool) {
	if !p.isOpen(p.i) {
		return 0, 0, false
	}
	lo, hi = p.inside(p.i)
	p.i = p.after(p.i)
	return lo, hi, true
}

// within runs f with the parser narrowed to toks[lo:hi].
func (p *parser) within(lo, hi int, f func()) {
	i, end := p.i, p.end
	p.i, p.end = lo, hi
	f()
	p.i, p.end = i, end
}

// seek gives the first index from i on, outside brackets, whose token stop accepts; the end when there is none.
func (p *parser) seek(i int, stop func(i int, t token) bool) int {
	for i < p.end {
		if t := p.toks[i]; stop(i, t) && !(i > 0 && p.toks[i-1].kind == tokDot) {
			return i
		}
		i = p.after(i)
	}
	return p.end
}

// commas calls f for every piece of toks[lo:hi] between commas outside brackets. Empty pieces are left out.
func (p *parser) commas(lo, hi int, f func(lo, hi int)) {
	p.within(lo, hi, func() {
		for lo < hi {
			end := p.seek(lo, func(_ int, t token) bool { return t.kind == tokComma })
			if end > lo {
				f(lo, end)
			}
			lo = end + 1
		}
	})
}

// lineOf gives the line of an offset in the text given to Parse.
func (p *parser) lineOf(off int) int {
	if off >= p.at {
		p.line += strings.Count(p.text[p.at-p.base:off-p.base], "\n")
	} else {
		p.line -= strings.Count(p.text[off-p.base:p.at-p.base], "\n")
	}
	p.at = off
	return p.line
}

// isName tells whether a token can be a table's, column's or alias's name.
func (p *parser) isName(i int) bool {
	if i >= p.end {
		return false
	}
	switch t := p.toks[i]; t.kind {
	case tokWord:
		return !t.kw.reserved()
	case tokQuoted, tokHole, tokVerb:
		return true
	case tokParam: // bun puts names where a question mark stands
		return p.src(t) == "?"
	}
	return false
}

// ident gives a name without quotes, its unknown pieces as [Hole].
func (p *parser) ident(t token) string {
	if t.kind == tokHole || t.kind == tokParam {
		return string(rune(Hole))
	}
	s := p.src(t)
	if t.kind == tokQuoted {
		q := s[:1]
		s = strings.TrimSuffix(s[1:], q)
		if strings.Contains(s, q) {
			s = strings.ReplaceAll(s, q+q, q)
		}
	}
	if t.hole {
		return knownPieces(s)
	}
	return s
}

// knownPieces replaces every run of unknown pieces by one Hole.
func knownPieces(s string) string {
	var b strings.Builder
	l := &lexer{text: s}
	hole := false
	for i := 0; i < len(s); {
		if n := l.piece(i); n > 0 {
			if !hole {
				b.WriteByte(Hole)
			}
			hole = true
			i += n
			continue
		}
		hole = false
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// name reads the name of a table: up to three parts, the first of three being a database.
func (p *parser) name() (Name, bool) {
	if !p.isName(p.i) {
		return Name{}, false
	}
	n := Name{Name: p.ident(p.toks[p.i])}
	p.i++
	for p.tok().kind == tokDot && p.i+1 < p.end {
		switch t := p.toks[p.i+1]; t.kind {
		case tokWord, tokQuoted, tokHole, tokVerb:
			n.Schema, n.Name = n.Name, p.ident(t)
			p.i += 2
		default:
			return n, false
		}
	}
	return n, true
}

// alias reads [AS] name.
func (p *parser) alias() string {
	if p.accept(kwAs) {
		if p.i < p.end && p.toks[p.i].kind != tokOpen {
			p.i++
			return p.ident(p.toks[p.i-1])
		}
		return ""
	}
	t := p.tok()
	if t.kind == tokWord && !t.kw.reserved() && t.kw != kwOverriding || t.kind == tokQuoted {
		p.i++
		return p.ident(t)
	}
	return ""
}

// names reads a bracketed list of columns. An entry that is no plain name counts as "".
func (p *parser) names(lo, hi int) []string {
	var out []string
	p.commas(lo, hi, func(lo, hi int) {
		out = append(out, p.columnName(lo, hi))
	})
	return out
}

// targets reads a bracketed list of columns to write.
func (p *parser) targets(lo, hi int) []string {
	var out []string
	p.commas(lo, hi, func(lo, hi int) { out = append(out, p.target(lo, hi)) })
	return out
}

// target reads a column to write. What is before a dot is a table's name in MySQL, in PostgreSQL the column, and the
// rest a field of it.
func (p *parser) target(lo, hi int) string {
	if lo+2 < hi && p.toks[lo+1].kind == tokDot && p.nameToken(lo) {
		if first := p.ident(p.toks[lo]); !p.isTable(first) {
			return first
		}
	}
	return p.columnName(lo, hi)
}

// isTable tells the names the tables of the statement go by.
func (p *parser) isTable(name string) bool {
	st := p.st
	if strings.EqualFold(name, st.Alias) || strings.EqualFold(name, st.Table.Name) {
		return true
	}
	for _, f := range st.From {
		if strings.EqualFold(name, f.Alias) || strings.EqualFold(name, f.Table.Name) {
			return true
		}
	}
	return false
}

// columnName reads a column, perhaps qualified, perhaps with an order or a length behind it: the last part counts.
func (p *parser) columnName(lo, hi int) string {
	name := ""
	for i := lo; i < hi; i++ {
		switch t := p.toks[i]; {
		case t.kind == tokWord || t.kind == tokQuoted || t.kind == tokHole || t.kind == tokVerb:
			name = p.ident(t)
			if i+1 < hi && p.toks[i+1].kind == tokDot {
				i++
				continue
			}
			if i+1 < hi && p.isOpen(i+1) && (i+2 >= hi || p.toks[i+2].kind != tokNumber) {
				return "" // an expression: lower(x)
			}
			return name
		default:
			return ""
		}
	}
	return name
}
