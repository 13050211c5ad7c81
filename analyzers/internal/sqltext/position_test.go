package sqltext_test

import (
	"strings"
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

func TestStatementsKnowWhereTheyStand(t *testing.T) {
	text := "-- a comment\n\n/* and\nanother */ SELECT 1;\n;\n\tINSERT INTO t (a)\nVALUES ($1)\n  ON CONFLICT DO NOTHING ; UPDATE t SET a = 'ä;' WHERE b = 2"
	sts := sqltext.Parse(text)
	if len(sts) != 3 {
		t.Fatalf("%d statements, want 3", len(sts))
	}
	for i, want := range []struct {
		text string
		line int
	}{
		{"SELECT 1", 4},
		{"INSERT INTO t (a)\nVALUES ($1)\n  ON CONFLICT DO NOTHING", 6},
		{"UPDATE t SET a = 'ä;' WHERE b = 2", 8},
	} {
		st := sts[i]
		if st.Text != want.text || st.Line != want.line || st.Offset != strings.Index(text, want.text) {
			t.Errorf("statement %d is %q at offset %d, line %d; want %q, line %d", i, st.Text, st.Offset, st.Line, want.text, want.line)
		}
	}
	if c := sts[1].Conflict; c.Line != 8 || !strings.HasPrefix(text[c.Offset:], "ON CONFLICT") {
		t.Errorf("the conflict clause is at line %d, offset %d", c.Line, c.Offset)
	}
	if c := sts[2].Conflict; c.Offset != -1 {
		t.Errorf("a statement without a conflict clause has one at %d", c.Offset)
	}
}

func TestAStatementInAScheduleKnowsWhereItStands(t *testing.T) {
	text := "SELECT 1;\nSELECT cron.schedule('0 3 * * *',\n  $x$\n DELETE FROM inbox WHERE day < now()$x$)"
	sts := sqltext.Parse(text)
	if len(sts) != 2 || len(sts[1].Body) != 1 {
		t.Fatalf("no statement in the schedule: %+v", sts)
	}
	inner := sts[1].Body[0]
	if inner.Line != 4 || !strings.HasPrefix(text[inner.Offset:], inner.Text) {
		t.Errorf("the DELETE is at line %d, offset %d", inner.Line, inner.Offset)
	}
}

func TestTheNameOfAQueryComesFromItsComment(t *testing.T) {
	sts := sqltext.Parse("-- name: MarkProcessed :execrows\nINSERT INTO e (id) VALUES ($1);\n\n-- name: Purge :exec\n-- older ones\nDELETE FROM e WHERE at < $1; SELECT 1")
	var got []string
	for _, st := range sts {
		got = append(got, st.Query)
	}
	if s := strings.Join(got, ","); s != "MarkProcessed,Purge," {
		t.Errorf("names are %q", s)
	}
}

func TestDumpsAndScriptsOfPsqlAreReadAroundTheirData(t *testing.T) {
	text := "\\connect app\nCOPY public.t (id, body) FROM stdin;\n1\tit's;\n2\t\"x\n\\.\n\nCREATE UNIQUE INDEX ux ON t (id);\n"
	sts := sqltext.Parse(text)
	if len(sts) != 2 || sts[0].Kind != sqltext.Other || sts[1].Kind != sqltext.CreateIndex || sts[1].Line != 7 {
		t.Errorf("statements are %+v", sts)
	}
}

func TestATemplateActionLeavesTheStatementOpen(t *testing.T) {
	sts := sqltext.Parse("SELECT 1; INSERT INTO t (a) VALUES ($1) {{if .Quiet}}ON CONFLICT DO NOTHING{{end}}; SELECT 2")
	if len(sts) != 3 || sts[0].Open || !sts[1].Open || sts[2].Open {
		t.Fatalf("statements are %+v", sts)
	}
	if sts[1].Conflict.Action != sqltext.DoNothing {
		t.Errorf("the conflict clause in the template is %v", sts[1].Conflict.Action)
	}
}

func TestOnlyAPieceAtTheEndOfAClauseLeavesAStatementOpen(t *testing.T) {
	for sql, open := range map[string]bool{
		"INSERT INTO t (a) VALUES ($1)":                             false,
		"INSERT INTO t (a) VALUES ($1) \x00":                        true,
		"INSERT INTO t (a) VALUES ($1)\x00":                         true,
		"INSERT INTO t (a) VALUES ($1) %s":                          true,
		"INSERT INTO t (a) VALUES (%s) ON CONFLICT DO NOTHING":      false,
		"INSERT INTO t (a) VALUES ($1) \x00 ON CONFLICT DO NOTHING": true,
		"INSERT INTO t\x00":                                         true,
		"INSERT INTO t (a) SELECT b FROM u \x00":                    true,
		"DELETE FROM %s.t WHERE at < $1":                            false,
		"DELETE FROM t WHERE at < $1\x00":                           true,
		"UPDATE t SET a = '%s' WHERE id = %d":                       false,
	} {
		if sts := sqltext.Parse(sql); len(sts) != 1 || sts[0].Open != open || sts[0].Kind == sqltext.Unknown {
			t.Errorf("%q: %v, open %v, want %v", sql, sts[0].Kind, sts[0].Open, open)
		}
	}
}

func TestProseIsNoSQL(t *testing.T) {
	for _, s := range []string{
		"insert into orders: %w", "update order %d", "update orders: %w", "failed to insert", "delete from %s: %v",
		"delete from the cart", "select a plan", "create tables: %w", "drop table %s: %w", "with great power",
		"Update stream settings, recording, or pull-source configuration.", "replace it", "commit failed: %w", "call me",
		"begin here", "truncate the text", "merge into main", "alter table missing", "", " ", "-- only a comment",
		"Create a self-hosted edge cluster (with enrollment)", "end of file", "do not retry",
	} {
		for _, st := range sqltext.Parse(s) {
			if st.Writes() && !st.Cut {
				t.Errorf("%q is taken for %v %v", s, st.Kind, st.Table)
			}
		}
	}
}
