package sqltext_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

var update = flag.Bool("update", false, "write the golden files anew")

// corpus gives the statements of testdata/statements.sql, with real holes.
func corpus(tb testing.TB) string {
	tb.Helper()
	b, err := os.ReadFile("testdata/statements.sql")
	if err != nil {
		tb.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "␀", "\x00")
}

func TestStatementsAreSeenAsTheGoldenFileSays(t *testing.T) {
	var got strings.Builder
	for _, st := range sqltext.Parse(corpus(t)) {
		got.WriteString("# " + strings.ReplaceAll(strings.Join(strings.Fields(st.Text), " "), "\x00", "␀") + "\n")
		got.WriteString(describe(&st) + "\n")
	}
	const golden = "testdata/statements.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("statements are seen otherwise than %s says (-update writes it anew):\n%s", golden, firstDifference(got.String(), string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	head := ""
	for i := range g {
		if strings.HasPrefix(g[i], "# ") {
			head = g[i]
		}
		if i >= len(w) || g[i] != w[i] {
			wanted := "(end)"
			if i < len(w) {
				wanted = w[i]
			}
			return head + "\n got: " + g[i] + "\nwant: " + wanted
		}
	}
	return "lines are missing"
}
