package sqltext

import "strings"

// Hole stands in a text for a piece that is not known: what a variable, a function or a loop adds to a query.
const Hole = '\x00'

type tokenKind uint8

const (
	tokWord   tokenKind = iota + 1 // a bare identifier or keyword, perhaps with holes in it
	tokQuoted                      // an identifier in double quotes or backticks
	tokString                      // a string literal of any form, quotes included
	tokNumber
	tokParam // a placeholder of a driver
	tokHole  // nothing but an unknown piece: Hole, %s, {{.X}}, ${x}
	tokVerb  // a verb of fmt that prints a plain value: %d, %t, %q
	tokOp    // an operator, all its characters
	tokOpen  // ( or [
	tokClose // ) or ]
	tokComma
	tokDot
	tokSemi
)

// A token is a piece of text[lo:hi].
type token struct {
	kind tokenKind
	kw   keyword
	hole bool // a name or string with an unknown piece in it
	lo   int32
	hi   int32
	// arg is, for an opening bracket, the index of the closing token (or -1), and the other way round; for a
	// placeholder its ordinal, 0 when it has a name.
	arg int32
}

// A lexer turns text into tokens. Comments are dropped, but their number of verbs is counted, since fmt counts them.
type lexer struct {
	text  string
	pos   int
	toks  []token
	open  []int32 // indices of the brackets not yet closed
	marks int32   // the `?` seen in this statement
	verbs int32   // the verbs of fmt seen in this text
	first int     // index of the first token of this statement
	// controls are the indices of the tokens before which a template action stood that prints nothing itself.
	controls []int
	queries  []query
	// comment is told of every comment, delimiters included; nil when nobody asks.
	comment func(lo, hi int)
	// What has been looked for in vain is not looked for again, or hostile text would cost quadratic time.
	noBraces, noCopyEnd bool
	badTags             int
}

// lex reads the whole text.
func lex(text string) *lexer {
	l := &lexer{text: text, toks: make([]token, 0, len(text)/5+8)}
	l.run()
	return l
}

func (l *lexer) run() {
	for l.pos < len(l.text) {
		l.next()
	}
}

func (l *lexer) emit(kind tokenKind, hi int) *token {
	l.toks = append(l.toks, token{kind: kind, lo: int32(l.pos), hi: int32(hi)})
	l.pos = hi
	return &l.toks[len(l.toks)-1]
}

func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.text) {
		return l.text[l.pos+n]
	}
	return ' '
}

// next reads one token, or the white space or comment at the position.
func (l *lexer) next() {
	c := l.text[l.pos]
	switch {
	case c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
		l.pos++
	case c == '-' && l.peek(1) == '-':
		l.skipComment(lineEnd(l.text, l.pos))
	case c == '/' && l.peek(1) == '*':
		l.skipComment(blockCommentEnd(l.text, l.pos))
	case c == '#' && l.lineStart() && l.peek(1) == ' ':
		l.skipComment(lineEnd(l.text, l.pos))
	case c == '\\' && l.lineStart():
		l.pos = lineEnd(l.text, l.pos) // a command of psql
	case c == '\'':
		l.str(l.pos+1, false)
	case c == '"' || c == '`':
		l.quoted(c)
	case strings.IndexByte("()[],;", c) >= 0:
		l.punct(c)
	case '0' <= c && c <= '9' || c == '.' && isDigit(l.peek(1)) && !l.afterName():
		l.emit(tokNumber, numberEnd(l.text, l.pos))
	case c == '.':
		l.emit(tokDot, l.pos+1)
	case l.prefixedString(c):
	case c == '$' && l.dollar():
	case c == '?':
		l.question()
	case c == ':':
		l.colon()
	case c == '@' && isNameStart(l.peek(1)):
		l.emit(tokParam, nameEnd(l.text, l.pos+1))
	default:
		l.wordOrOp()
	}
}

// skipComment passes over a comment. A verb in it takes an argument of Sprintf like any other.
func (l *lexer) skipComment(end int) {
	l.noteQuery(l.text[l.pos:end])
	if l.comment != nil {
		l.comment(l.pos, end)
	}
	for i := l.pos; i < end; {
		n, _, _ := verb(l.text[i:end])
		if n > 0 {
			l.verbs++
		}
		i += max(n, 1)
	}
	l.pos = end
}

// A query is a comment "-- name: X :exec", which names the statement after it.
type query struct {
	name string
	next int // index of the statement's first token
}

func (l *lexer) noteQuery(comment string) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(comment, "-/*# "), "name:")
	if !ok {
		return
	}
	if f := strings.Fields(rest); len(f) > 0 {
		l.queries = append(l.queries, query{f[0], len(l.toks)})
	}
}

func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}

// blockCommentEnd finds the end of a comment that starts at i; comments nest, as PostgreSQL has it.
func blockCommentEnd(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch {
		case strings.HasPrefix(s[i:], "/*"):
			depth++
			i += 2
		case strings.HasPrefix(s[i:], "*/"):
			depth--
			i += 2
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return len(s)
}

func (l *lexer) lineStart() bool { return l.pos == 0 || l.text[l.pos-1] == '\n' }

// afterName tells whether a dot at the position qualifies a name ("t.1" is no number).
func (l *lexer) afterName() bool {
	if len(l.toks) == 0 || l.pos == 0 {
		return false
	}
	last := l.toks[len(l.toks)-1]
	name := last.kind == tokWord && !last.kw.reserved() || last.kind == tokQuoted || last.kind == tokHole
	return int(last.hi) == l.pos && name
}

// str reads a string literal whose first character after the quote is at i.
func (l *lexer) str(i int, backslash bool) {
	hole, verbs := false, l.verbs
	for i < len(l.text) {
		switch c := l.text[i]; {
		case c == '\'' && i+1 < len(l.text) && l.text[i+1] == '\'':
			i += 2
			continue
		case c == '\'':
			l.strToken(i+1, hole, verbs)
			return
		case c == '\\' && backslash:
			i += 2
			continue
		case c == Hole:
			hole = true
		case c == '%':
			if n, _, _ := verb(l.text[i:]); n > 0 {
				l.verbs++
				i += n
				continue
			}
		}
		i++
	}
	// Not closed: nothing after the quote can be known.
	l.strToken(len(l.text), true, verbs)
}

// strToken emits the literal, and sees that '%s' is the one verb it is made of.
func (l *lexer) strToken(end int, hole bool, verbsBefore int32) {
	lo := l.pos
	t := l.emit(tokString, end)
	t.hole = hole
	inner := strings.Trim(l.text[lo:end], "'")
	if n, _, explicit := verb(inner); n > 0 && n == len(inner) {
		t.hole = true
		t.arg = verbsBefore + 1
		if explicit > 0 {
			t.arg = explicit
		}
	}
}

// prefixedString reads E'..', N'..', B'..', X'..' and U&'..'.
func (l *lexer) prefixedString(c byte) bool {
	switch c {
	case 'e', 'E', 'n', 'N', 'b', 'B', 'x', 'X':
		if l.peek(1) == '\'' {
			l.str(l.pos+2, c == 'e' || c == 'E')
			return true
		}
	case 'u', 'U':
		if l.peek(1) == '&' && l.peek(2) == '\'' {
			l.str(l.pos+3, false)
			return true
		}
	}
	return false
}

func (l *lexer) quoted(q byte) {
	hole := false
	i := l.pos + 1
	for i < len(l.text) {
		switch c := l.text[i]; {
		case c == q && i+1 < len(l.text) && l.text[i+1] == q:
			i += 2
			continue
		case c == q:
			l.emit(tokQuoted, i+1).hole = hole
			return
		default:
			if n := l.piece(i); n > 0 {
				hole = true
				i += n
				continue
			}
		}
		i++
	}
	l.emit(tokQuoted, len(l.text)).hole = true
}

func (l *lexer) punct(c byte) {
	i := int32(len(l.toks))
	switch c {
	case '(', '[':
		l.open = append(l.open, i)
		l.emit(tokOpen, l.pos+1).arg = -1
	case ')', ']':
		t := l.emit(tokClose, l.pos+1)
		t.arg = -1
		if n := len(l.open); n > 0 {
			t.arg = l.open[n-1]
			l.toks[t.arg].arg = i
			l.open = l.open[:n-1]
		}
	case ',':
		l.emit(tokComma, l.pos+1)
	case ';':
		l.emit(tokSemi, l.pos+1)
		l.skipCopyData()
		l.open, l.marks, l.first = l.open[:0], 0, len(l.toks)
	}
}

// skipCopyData passes over the rows that follow COPY ... FROM stdin in a dump, up to the line `\.`.
func (l *lexer) skipCopyData() {
	st := l.toks[l.first:]
	if len(st) < 4 || st[0].kw != kwCopy {
		return
	}
	for _, t := range st {
		if t.kind == tokWord && strings.EqualFold(l.text[t.lo:t.hi], "stdin") && !l.noCopyEnd {
			n := strings.Index(l.text[l.pos:], "\n\\.")
			if l.noCopyEnd = n < 0; !l.noCopyEnd {
				l.pos += n + 3
			}
			return
		}
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c >= 0x80
}

func isNamePart(c byte) bool { return isNameStart(c) || isDigit(c) || c == '$' }

func nameEnd(s string, i int) int {
	for i < len(s) && isNamePart(s[i]) {
		i++
	}
	return i
}

// numberEnd finds the end of the number that starts at start: digits, hexadecimal, fractions, exponents.
func numberEnd(s string, start int) int {
	i := start
	for i < len(s) {
		c := s[i]
		exponent := (c == '+' || c == '-') && i > start+1 && s[i-1]|0x20 == 'e' && isDigit(s[i-2])
		if !exponent && !isDigit(c) && !isNameStart(c) && c != '.' {
			break
		}
		i++
	}
	return i
}
