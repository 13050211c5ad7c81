package runtime

import "strings"

// controlsTransaction tells whether sql holds a command that begins, ends or
// prepares a transaction, or closes every cursor and with them the guard. It
// lets a handler's mistake fail with a clear error; what it misses (a literal
// that standard_conforming_strings = off ends elsewhere, the bare connection) the
// guard stops at the commit.
func controlsTransaction(sql string) bool {
	s := sqlScanner{text: sql}
	for {
		first, ok := s.word()
		switch {
		case !ok && s.done():
			return false
		case isAny(first, "begin", "start", "commit", "end", "abort"):
			return true
		case isAny(first, "rollback"):
			if next, _ := s.word(); isAny(next, "work", "transaction") {
				if next, _ = s.word(); !isAny(next, "to") {
					return true
				}
			} else if !isAny(next, "to") {
				return true
			}
		case isAny(first, "prepare"):
			if next, _ := s.word(); isAny(next, "transaction") {
				return true
			}
		case isAny(first, "close"):
			if next, _ := s.word(); isAny(next, "all") {
				return true
			}
		}
		if !s.nextCommand() {
			return false
		}
	}
}

func isAny(word string, of ...string) bool {
	for _, w := range of {
		if len(w) == len(word) && strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// sqlScanner finds the first words and the ends of commands, past comments,
// literals, quoted names and dollar quotes.
type sqlScanner struct {
	text string
	pos  int
}

func (s *sqlScanner) done() bool { return s.pos >= len(s.text) }

// word passes over blanks and comments and returns the word that follows, if one does.
func (s *sqlScanner) word() (string, bool) {
	for s.blank() {
	}
	start := s.pos
	for !s.done() && isWordByte(s.text[s.pos]) {
		s.pos++
	}
	return s.text[start:s.pos], s.pos > start
}

// nextCommand passes over the rest of a command and its semicolon. It is false at
// the end of the text, and in the body of a function that begins with BEGIN
// ATOMIC, where semicolons end no command.
func (s *sqlScanner) nextCommand() bool {
	if strings.IndexByte(s.text[s.pos:], ';') < 0 {
		return false
	}
	begin := false // the word before was BEGIN
	for !s.done() {
		if s.blank() {
			continue
		}
		switch c := s.text[s.pos]; {
		case c == ';':
			s.pos++
			return true
		case c == '\'':
			s.quoted('\'', false)
			begin = false
		case c == '"':
			s.quoted('"', false)
			begin = false
		case c == '$':
			s.dollar()
			begin = false
		case isWordByte(c):
			word, _ := s.word()
			if begin && isAny(word, "atomic") {
				return false
			}
			begin = isAny(word, "begin")
			if isAny(word, "e") && !s.done() && s.text[s.pos] == '\'' {
				s.quoted('\'', true)
			}
		default:
			s.pos++
			begin = false
		}
	}
	return false
}

// blank passes over one blank or comment, if there is one. Comments nest, and one
// that begins with -- ends at either kind of line end.
func (s *sqlScanner) blank() bool {
	rest := s.text[s.pos:]
	switch {
	case rest == "":
		return false
	case strings.HasPrefix(rest, "--"):
		if end := strings.IndexAny(rest, "\r\n"); end >= 0 {
			s.pos += end + 1
		} else {
			s.pos = len(s.text)
		}
		return true
	case strings.HasPrefix(rest, "/*"):
		s.comment()
		return true
	}
	switch rest[0] {
	case ' ', '\t', '\n', '\r', '\f', '\v':
		s.pos++
		return true
	}
	return false
}

func (s *sqlScanner) comment() {
	depth := 0
	for !s.done() {
		switch rest := s.text[s.pos:]; {
		case strings.HasPrefix(rest, "/*"):
			depth++
			s.pos += 2
		case strings.HasPrefix(rest, "*/"):
			s.pos += 2
			if depth--; depth == 0 {
				return
			}
		default:
			s.pos++
		}
	}
}

// quoted passes over a literal or a quoted name. A doubled quote ends it and
// begins another, which comes to the same.
func (s *sqlScanner) quoted(quote byte, escapes bool) {
	for s.pos++; !s.done(); s.pos++ {
		switch c := s.text[s.pos]; {
		case c == '\\' && escapes:
			s.pos++
		case c == quote:
			s.pos++
			return
		}
	}
	s.pos = len(s.text)
}

// dollar passes over a dollar-quoted literal or, if none begins here, the sign.
func (s *sqlScanner) dollar() {
	end := s.pos + 1
	for end < len(s.text) && isWordByte(s.text[end]) && s.text[end] != '$' {
		end++
	}
	if end == len(s.text) || s.text[end] != '$' || '0' <= s.text[s.pos+1] && s.text[s.pos+1] <= '9' {
		s.pos++
		return
	}
	tag := s.text[s.pos : end+1]
	s.pos = end + 1
	if i := strings.Index(s.text[s.pos:], tag); i >= 0 {
		s.pos += i + len(tag)
	} else {
		s.pos = len(s.text)
	}
}

// isWordByte tells whether c may stand in a keyword or a name. A name may hold a
// dollar sign, which then begins no quote, but none begins with one.
func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '$' || c >= 0x80
}
