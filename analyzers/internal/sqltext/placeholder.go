package sqltext

import "strings"

// verb measures the verb of fmt at the start of s: its length (0 when there is none), its letter, and its explicit
// argument index (0 when it has none). "% d" with a space is the operator, so the space flag is not taken.
func verb(s string) (n int, letter byte, explicit int32) {
	if len(s) < 2 || s[0] != '%' {
		return 0, 0, 0
	}
	i := 1
	for i < len(s) && strings.IndexByte("+-#0", s[i]) >= 0 {
		i++
	}
	if i < len(s) && s[i] == '[' {
		i++
		for i < len(s) && isDigit(s[i]) && explicit < 1<<16 {
			explicit = explicit*10 + int32(s[i]-'0')
			i++
		}
		if i >= len(s) || s[i] != ']' || explicit == 0 {
			return 0, 0, 0
		}
		i++
	}
	for i < len(s) && (isDigit(s[i]) || s[i] == '.' || s[i] == '*') {
		i++
	}
	if i >= len(s) || strings.IndexByte("vTtbcdoOqxXUeEfFgGsp", s[i]) < 0 {
		return 0, 0, 0
	}
	if i+1 < len(s) && isNamePart(s[i+1]) && s[i] != 's' && s[i] != 'd' && s[i] != 'v' {
		return 0, 0, 0 // "%test", as in LIKE patterns
	}
	return i + 1, s[i], explicit
}

// piece measures the unknown piece at i: a Hole, a verb that may print any text, a template action, ${x}.
func (l *lexer) piece(i int) int {
	switch c := l.text[i]; c {
	case Hole:
		return 1
	case '%':
		if strings.HasPrefix(l.text[i:], "%%s") {
			return 3 // the format of a format
		}
		n, _, _ := verb(l.text[i:])
		if n > 0 {
			l.verbs++
		}
		return n
	case '{':
		if !l.noBraces && strings.HasPrefix(l.text[i:], "{{") {
			n := strings.Index(l.text[i:], "}}")
			if l.noBraces = n < 0; !l.noBraces {
				return n + 2
			}
		}
	case '$':
		if s := l.text[i:min(i+longestVariable, len(l.text))]; strings.HasPrefix(s, "${") {
			return strings.IndexByte(s, '}') + 1
		}
	}
	return 0
}

// mostBadTags is how many dollar quotes without an end are searched for before no further one is believed.
const mostBadTags = 8

// longestVariable bounds the search for the end of ${x}.
const longestVariable = 80

// dollar reads $1, $tag$...$tag$ and the named $x of SQLite.
func (l *lexer) dollar() bool {
	s := l.text[l.pos:]
	if len(s) < 2 {
		return false
	}
	if isDigit(s[1]) {
		l.numbered(1)
		return true
	}
	i := 1
	for i < len(s) && (isNameStart(s[i]) || i > 1 && isDigit(s[i])) {
		i++
	}
	if i < len(s) && s[i] == '$' && l.badTags < mostBadTags {
		if n := strings.Index(s[i+1:], s[:i+1]); n >= 0 {
			t := l.emit(tokString, l.pos+i+1+n+i+1)
			t.hole = strings.IndexByte(s[:i+1+n], Hole) >= 0
			return true
		}
		l.badTags++
		return false
	}
	if i > 1 {
		l.emit(tokParam, l.pos+i)
		return true
	}
	return false
}

// numbered reads a placeholder that carries its ordinal after a prefix of n characters.
func (l *lexer) numbered(n int) {
	i, ord := l.pos+n, int32(0)
	for i < len(l.text) && isDigit(l.text[i]) {
		if ord < 1<<20 {
			ord = ord*10 + int32(l.text[i]-'0')
		}
		i++
	}
	l.emit(tokParam, i).arg = ord
}

// question reads `?`, which is a placeholder, unless it is one of the jsonb operators ?, ?| and ?&.
func (l *lexer) question() {
	switch c := l.peek(1); {
	case isDigit(c):
		l.numbered(1)
	case isNameStart(c) && !l.afterOperand(): // bun: ?TableName
		l.emit(tokHole, nameEnd(l.text, l.pos+1)).hole = true
	case c == '|' || c == '&' || c == '?':
		l.emit(tokOp, l.pos+2)
	case l.afterOperand() && l.stringFollows():
		l.emit(tokOp, l.pos+1)
	default:
		l.marks++
		l.emit(tokParam, l.pos+1).arg = l.marks
	}
}

func (l *lexer) afterOperand() bool {
	if len(l.toks) == 0 {
		return false
	}
	switch t := l.toks[len(l.toks)-1]; t.kind {
	case tokWord:
		return t.kw == kwNone
	case tokQuoted, tokString, tokNumber, tokClose:
		return true
	}
	return false
}

func (l *lexer) stringFollows() bool {
	rest := strings.TrimLeft(l.text[l.pos+1:], " ")
	return rest != "" && rest[0] == '\''
}

// colon reads ::, :=, :name, :1 and, inside brackets, the colon of an array slice.
func (l *lexer) colon() {
	c := l.peek(1)
	inSlice := len(l.open) > 0 && l.text[l.toks[l.open[len(l.open)-1]].lo] == '['
	switch {
	case c == ':' || c == '=':
		l.emit(tokOp, l.pos+2)
	case inSlice:
		l.emit(tokOp, l.pos+1)
	case isDigit(c):
		l.numbered(1)
	case isNameStart(c):
		l.emit(tokParam, nameEnd(l.text, l.pos+1))
	default:
		l.emit(tokOp, l.pos+1)
	}
}

// wordOrOp reads a name, with the unknown pieces in it, or an operator.
func (l *lexer) wordOrOp() {
	i, holes, known, verbs := l.pos, 0, l.pos, l.verbs
	for i < len(l.text) {
		if n := l.piece(i); n > 0 {
			if controlAction(l.text[i : i+n]) {
				if i == l.pos {
					l.controls = append(l.controls, len(l.toks))
					l.pos = i + n
					return
				}
				break
			}
			holes += n
			i += n
			known = i
			continue
		}
		if c := l.text[i]; !isNameStart(c) && (i == l.pos || !isNamePart(c)) {
			break
		}
		i++
	}
	switch {
	case i == l.pos:
		l.operator()
	case holes == i-l.pos:
		l.pieceToken(i, verbs)
	case holes > 0:
		l.holedWord(i, known)
	default:
		lo := l.pos
		l.emit(tokWord, i).kw = keywordOf(l.text[lo:i])
	}
}

// pieceToken emits a token that is nothing but unknown. A verb such as %d prints a plain value, %s any text.
func (l *lexer) pieceToken(end int, verbsBefore int32) {
	s := l.text[l.pos:end]
	n, letter, explicit := verb(s)
	kind := tokHole
	if n == len(s) && letter != 's' && letter != 'v' {
		kind = tokVerb
	}
	t := l.emit(kind, end)
	t.hole = true
	if n != len(s) {
		return
	}
	t.arg = verbsBefore + 1
	if explicit > 0 {
		t.arg = explicit
	}
}

// controlAction tells {{if}}, {{end}} and their like, which print nothing themselves.
func controlAction(s string) bool {
	if s[0] != '{' {
		return false
	}
	s = strings.TrimLeft(s, "{- \t\n")
	for _, w := range [...]string{"if", "else", "end", "range", "with", "define", "block", "/*"} {
		if strings.HasPrefix(s, w) && (len(s) == len(w) || !isNamePart(s[len(w)])) {
			return true
		}
	}
	return false
}

// holedWord emits a name with unknown pieces in it, the last of which ends at known. A keyword directly before or
// after the pieces stays a keyword: "VALUES\x00" is what `"... VALUES" + rows` leaves.
func (l *lexer) holedWord(end, known int) {
	lo := l.pos
	if n := nameEnd(l.text, lo); n > lo && known == end && keywordOf(l.text[lo:n]).reserved() {
		l.emit(tokWord, n).kw = keywordOf(l.text[lo:n])
		l.emit(tokHole, end).hole = true
		return
	}
	if kw := keywordOf(l.text[known:end]); kw.reserved() && !isNamePart(l.text[lo]) {
		l.emit(tokHole, known).hole = true
		l.emit(tokWord, end).kw = kw
		return
	}
	l.emit(tokWord, end).hole = true
}

func (l *lexer) operator() {
	i := l.pos
	for i < len(l.text) && strings.IndexByte("+-*/<>=~!@#%^&|", l.text[i]) >= 0 {
		// A comment or a verb ends the operator: "=--x", "=%s", "=@x".
		if i > l.pos {
			rest := l.text[i:]
			if strings.HasPrefix(rest, "--") || strings.HasPrefix(rest, "/*") {
				break
			}
			if n, _, _ := verb(rest); n > 0 {
				break
			}
			if rest[0] == '@' && len(rest) > 1 && isNameStart(rest[1]) {
				break
			}
			if (rest[0] == '-' || rest[0] == '+') && len(rest) > 1 && isDigit(rest[1]) {
				break // "=-1": a sign
			}
		}
		i++
	}
	// PostgreSQL lets an operator end in a sign only where it has a character that no sign follows: "=-x" is two.
	for i > l.pos+1 && (l.text[i-1] == '-' || l.text[i-1] == '+') && !strings.ContainsAny(l.text[l.pos:i], "~!@#%^&|") {
		i--
	}
	l.emit(tokOp, max(i, l.pos+1))
}
