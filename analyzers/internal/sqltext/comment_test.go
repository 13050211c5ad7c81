package sqltext_test

import (
	"strings"
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

func TestDirectivesAreFoundInCommentsAlone(t *testing.T) {
	text := "SELECT 1; -- idemlint:ignore R-KFK-IDEM-2 the table lives a day\n" +
		"SELECT '-- idemlint:ignore x y', $$-- idemlint:ignore x y$$;\n" +
		"/* idemlint:ignore dedupsql */\n" +
		"--idemlint:ignore\n" +
		"-- not idemlint:ignore x\n" +
		"  -- idemlint:guard\n"
	type directive struct {
		verb, rule, reason string
		line               int
	}
	want := []directive{
		{"ignore", "R-KFK-IDEM-2", "the table lives a day", 1}, {"ignore", "dedupsql", "", 3}, {"ignore", "", "", 4},
		{"guard", "", "", 6},
	}
	got := sqltext.Directives(text)
	if len(got) != len(want) {
		t.Fatalf("got %+v", got)
	}
	for i, d := range got {
		if (directive{d.Verb, d.Rule, d.Reason, d.Line}) != want[i] || !strings.HasPrefix(text[d.Offset:], d.Text) {
			t.Errorf("got %+v, want %+v", d, want[i])
		}
	}
}

func TestBlankingKeepsLengthAndLines(t *testing.T) {
	text := "CREATE TABLE a (b int);\n-- +goose Down\nDROP TABLE ä; -- ö\n\n-- +goose Up\nSELECT 1;"
	got := sqltext.WithoutDown("1.sql", text)
	if len(got) != len(text) || strings.Count(got, "\n") != strings.Count(text, "\n") {
		t.Fatalf("got %q", got)
	}
	if strings.Contains(got, "DROP") || !strings.Contains(got, "CREATE TABLE a") || !strings.Contains(got, "SELECT 1;") {
		t.Errorf("got %q", got)
	}
	if got := sqltext.WithoutDown("2.down.sql", text); strings.TrimSpace(got) != "" || len(got) != len(text) {
		t.Errorf("of a down file %q is left", got)
	}
	text = "-- +goose Down\n-- +goose StatementBegin\nDROP TABLE a;\n-- a note\nDROP TABLE b;\n-- +goose StatementEnd\n"
	if got := sqltext.WithoutDown("1.sql", text); strings.TrimSpace(got) != "" {
		t.Errorf("of a down section %q is left", got)
	}
	if got := sqltext.WithoutDown("1.sql", "SELECT 'down'"); got != "SELECT 'down'" {
		t.Errorf("got %q", got)
	}
}
