package sqltext_test

import (
	"strings"
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

// FuzzParse feeds any text to everything that reads text.
func FuzzParse(f *testing.F) {
	for _, st := range sqltext.Parse(corpus(f)) {
		f.Add(st.Text)
	}
	f.Add(strings.Repeat("(", 200) + "SELECT")
	f.Add("SELECT cron.schedule('a', '" + strings.Repeat("SELECT cron.schedule(''", 40))
	f.Add("/* /* */ $a$ $b$ {{ ${ %[ %[1] '")
	f.Add("INSERT INTO A(A(")
	f.Fuzz(func(t *testing.T, text string) {
		for _, st := range sqltext.Parse(text) {
			checkStatement(t, text, &st, false)
			st.Idempotent()
			st.StateGuarded()
			for _, u := range st.Uses() {
				if u.Param.Offset < 0 || u.Param.Offset >= len(text) {
					t.Errorf("a parameter at %d of a text of %d bytes", u.Param.Offset, len(text))
				}
			}
		}
		s := new(sqltext.Schema)
		s.Add("1.sql", text)
		for _, table := range s.Tables() {
			table.KeyProblems()
			s.Cleanups(table.Name)
		}
		if got := sqltext.WithoutDown("1.sql", text); len(got) != len(text) {
			t.Errorf("%d bytes are left of %d", len(got), len(text))
		}
		sqltext.Directives(text)
		sqltext.ParseSuffix(text)
		sqltext.ParseWhere(text)
		sqltext.ParseExpr(text)
	})
}

// checkStatement sees that a statement lies within the text. The body of a routine may be written otherwise than it
// stands in the text (doubled quotes), so its text is not compared.
func checkStatement(t *testing.T, text string, st *sqltext.Statement, embedded bool) {
	t.Helper()
	if st.Offset < 0 || st.Offset > len(text) || !embedded && !strings.HasPrefix(text[st.Offset:], st.Text) {
		t.Fatalf("%q is not at offset %d", st.Text, st.Offset)
	}
	if !embedded && st.Line != 1+strings.Count(text[:st.Offset], "\n") {
		t.Fatalf("%q is not in line %d", st.Text, st.Line)
	}
	if c := st.Conflict; c.Offset < -1 || c.Offset > len(text) || st.Kind != sqltext.Unknown && c.Action != sqltext.NoAction && c.Offset < 0 && c.Action != sqltext.ReplaceRow {
		t.Fatalf("the conflict clause of %q is at %d", st.Text, c.Offset)
	}
	for i := range st.Body {
		checkStatement(t, text, &st.Body[i], true)
	}
	for _, c := range st.With {
		checkStatement(t, text, c.Stmt, embedded)
	}
}
