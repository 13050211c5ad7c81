package oracle_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

var more = flag.String("corpus", "", "a further file of statements, texts separated by NUL bytes")

// sqlcArgument is a function in whose place sqlc puts a placeholder.
var sqlcArgument = regexp.MustCompile(`(?i)sqlc\.(n?arg|slice)\(\s*'?\w+'?\s*\)`)

// presentable replaces what PostgreSQL's parser refuses: placeholders of other drivers become $1, $2, ..., holes a
// name.
func presentable(text string) string {
	text = sqlcArgument.ReplaceAllString(text, "$$1")
	var b strings.Builder
	at := 0
	for _, st := range sqltext.Parse(text) {
		for _, u := range st.Uses() {
			end, with := placeholder(text, u.Param)
			if u.Param.Offset < at || end == 0 {
				continue
			}
			b.WriteString(text[at:u.Param.Offset] + with)
			at = end
		}
	}
	b.WriteString(text[at:])
	return strings.NewReplacer("\x00", "hole_", "%s", "hole_").Replace(b.String())
}

// placeholder gives the end of a placeholder in the text, 0 when PostgreSQL takes it as it is, and what to put there.
func placeholder(text string, p sqltext.Param) (end int, with string) {
	switch s := text[p.Offset:]; {
	case p.Style == sqltext.Question:
		return p.Offset + 1, "$1"
	case p.Style == sqltext.Dollar && s[0] != '$':
		n := 1
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		return p.Offset + n, "$" + s[1:n]
	case p.Style == sqltext.Named && (s[0] == ':' || s[0] == '@' || s[0] == '$'):
		return p.Offset + 1 + len(p.Name), "$1"
	}
	return 0, ""
}

// isProse tells a DELETE with an alias and nothing that would need one ("delete from the list"): SQL to PostgreSQL,
// Unknown to sqltext.
func isProse(n *pg.Node) bool {
	d := n.GetDeleteStmt()
	return d != nil && d.Relation.Alias != nil && d.WhereClause == nil && len(d.UsingClause) == 0 && len(d.ReturningList) == 0 && d.WithClause == nil
}

// disagreements compares both parsers on a text. tried is how many statements PostgreSQL took for SQL.
func disagreements(text string) (tried int, out []string) {
	tree, err := pg.Parse(text)
	if err != nil {
		return 0, nil
	}
	own := sqltext.Parse(text)
	if len(own) != len(tree.Stmts) {
		return len(tree.Stmts), []string{"the number of statements differs"}
	}
	for i, raw := range tree.Stmts {
		theirs, ours := pgView(raw.Stmt), ownView(&own[i])
		if theirs.kind == "" {
			switch own[i].Kind { // SQL the rules do not ask about must not be taken for what they do ask about
			case sqltext.Unknown, sqltext.Other:
			default:
				out = append(out, "PostgreSQL sees something else in "+own[i].Text+": ours is "+ours.kind)
			}
			continue
		}
		if isProse(raw.Stmt) {
			continue
		}
		tried++
		if d := difference(theirs, ours); d != "" {
			out = append(out, own[i].Text+"\n"+d)
		}
	}
	return tried, out
}

func difference(theirs, ours view) string {
	if theirs.kind != ours.kind {
		return "\tkind: PostgreSQL " + theirs.kind + ", ours " + ours.kind
	}
	for i := range max(len(theirs.lines), len(ours.lines)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(theirs.lines) {
			a = theirs.lines[i]
		}
		if i < len(ours.lines) {
			b = ours.lines[i]
		}
		if a != b {
			return "\tPostgreSQL: " + a + "\n\tours:       " + b
		}
	}
	return ""
}

// texts are the statements both parsers are asked about.
func texts(tb testing.TB) []string {
	tb.Helper()
	var out []string
	for _, file := range []string{"../testdata/statements.sql", "testdata/postgresql.sql"} {
		b, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		for _, st := range sqltext.Parse(strings.ReplaceAll(string(b), "␀", "\x00")) {
			out = append(out, st.Text)
		}
	}
	if *more != "" {
		b, err := os.ReadFile(*more)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, strings.Split(string(b), "\x00")...)
	}
	return out
}

func TestPostgreSQLSeesTheSame(t *testing.T) {
	tried, differ := 0, 0
	all := texts(t)
	for _, text := range all {
		n, out := disagreements(presentable(text))
		tried += n
		differ += len(out)
		for _, d := range out {
			t.Error(d)
		}
	}
	t.Logf("%d texts, %d statements tried, %d disagreements", len(all), tried, differ)
	if tried < 100 {
		t.Errorf("only %d statements were tried", tried)
	}
}

// FuzzAgainstPostgreSQL looks for texts PostgreSQL takes for a statement the rules ask about, and sqltext for another.
func FuzzAgainstPostgreSQL(f *testing.F) {
	for _, text := range texts(f) {
		f.Add(presentable(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if foreign(text) {
			return
		}
		_, out := disagreements(text)
		for _, d := range out {
			t.Error(d)
		}
	})
}
