package sqltext

import (
	"path/filepath"
	"strings"
)

// A Directive is a comment "-- idemlint:ignore RULE reason" in SQL.
type Directive struct {
	Verb   string // what follows "idemlint:", such as "ignore"
	Rule   string // "" when missing
	Reason string // "" when missing
	Text   string // the comment with its delimiters
	Offset int    // of the comment, in bytes
	Line   int    // of the comment, from 1
}

const directivePrefix = "idemlint:"

// Directives finds the comments of a text that speak to the linter, in order. What they mean is decided elsewhere.
func Directives(text string) []Directive {
	if !strings.Contains(text, directivePrefix) {
		return nil
	}
	var out []Directive
	at, line := 0, 1
	l := &lexer{text: text}
	l.comment = func(lo, hi int) {
		comment := text[lo:hi]
		body := strings.TrimSpace(strings.TrimSuffix(strings.TrimLeft(comment, "-/*# \t"), "*/"))
		rest, ok := strings.CutPrefix(body, directivePrefix)
		if !ok {
			return
		}
		line += strings.Count(text[at:lo], "\n")
		at = lo
		d := Directive{Text: strings.TrimRight(comment, " \t\r"), Offset: lo, Line: line}
		d.Verb, rest = cutWord(rest)
		d.Rule, d.Reason = cutWord(rest)
		out = append(out, d)
	}
	l.run()
	return out
}

func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	i := strings.IndexAny(s, " \t\r\n")
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// WithoutDown blanks what a migration tool runs to take a migration back: sections after "-- +goose Down",
// "-- +migrate Down" and "-- migrate:down", below tern's "---- create above / drop below ----", and whole files named for it (x.down.sql). The text keeps its length and
// its lines, so that offsets stay true.
func WithoutDown(file, text string) string {
	if isDownFile(file) {
		return blank(text)
	}
	if !strings.Contains(text, "own") && !strings.Contains(text, "DOWN") && !strings.Contains(text, ternLine) {
		return text
	}
	var b strings.Builder
	down := false
	for rest := text; rest != ""; {
		n := strings.IndexByte(rest, '\n') + 1
		if n == 0 {
			n = len(rest)
		}
		if to, ok := section(rest[:n]); ok {
			down = to
		}
		if down {
			b.WriteString(blank(rest[:n]))
		} else {
			b.WriteString(rest[:n])
		}
		rest = rest[n:]
	}
	return b.String()
}

// ternLine parts a migration of tern: what takes it back stands below.
const ternLine = "create above / drop below"

// section tells a line that starts a section, and whether it is one for taking back.
func section(line string) (down, ok bool) {
	body, ok := strings.CutPrefix(strings.TrimSpace(line), "--")
	if !ok {
		return false, false
	}
	if strings.Trim(body, "- ") == ternLine {
		return true, true
	}
	body = strings.ToLower(strings.TrimSpace(body))
	for _, tool := range [...]string{"+goose ", "+migrate ", "migrate:", "+micrate "} {
		if rest, ok := strings.CutPrefix(body, tool); ok {
			word, _ := cutWord(rest)
			return word == "down", word == "down" || word == "up"
		}
	}
	return false, false
}

func isDownFile(file string) bool {
	base := strings.ToLower(filepath.Base(file))
	for _, suffix := range [...]string{
		".down.sql", "_down.sql", "-down.sql", ".undo.sql", ".rollback.sql", "_rollback.sql",
	} {
		if strings.HasSuffix(base, suffix) {
			return true
		}
	}
	if base == "down.sql" {
		return true
	}
	// Flyway: U2__add_column.sql undoes V2__add_column.sql.
	version, _, ok := strings.Cut(base, "__")
	return ok && len(version) > 1 && version[0] == 'u' && isDigit(version[1])
}

// blank replaces everything but line ends by spaces.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, asciiOnly(s))
}

// asciiOnly replaces every byte of a longer character, so that blanking keeps the length.
func asciiOnly(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			b := []byte(s)
			for j := range b {
				if b[j] >= 0x80 {
					b[j] = ' '
				}
			}
			return string(b)
		}
	}
	return s
}
