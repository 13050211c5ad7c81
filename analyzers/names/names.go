// Package names is what the values of options name in the code. It knows no option and looks nothing up.
package names

import "strings"

// A Kind says what a value of an option is the name of.
type Kind int

// The kinds of names.
const (
	Func    Kind = iota // a function, or a method of a type or interface
	Type                // a type
	Handler             // either
	Package             // a package with all below it
	Table               // a table of a database
	Word                // a word in names: of fields, functions, headers
)

// A Name is what a value of an option names in the code.
type Name struct {
	Kind    Kind
	Package string // import path, as it is written
	Type    string // that has the method, or is itself meant
	Func    string // function or method
	Word    string // table or word
}

// In reports whether a text mentions a table or word: the table as a word of its own, or a type that an ORM would call so;
// the word within any other.
func (n Name) In(text string) bool {
	want := plain(n.Word)
	if n.Kind != Table {
		return strings.Contains(plain(text), want)
	}
	names := map[string]bool{want: true, strings.TrimSuffix(want, "s"): true, strings.TrimSuffix(want, "es"): true}
	if stem, ok := strings.CutSuffix(want, "ies"); ok {
		names[stem+"y"] = true
	}
	for token := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '_' && plainRune(r) < 0 }) {
		if names[plain(token)] {
			return true
		}
	}
	return false
}

// plain is a text's letters and digits, in lower case.
func plain(text string) string { return strings.Map(plainRune, text) }

func plainRune(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r + 'a' - 'A'
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r >= 0x80:
		return r
	}
	return -1
}
