package sqltext_test

import (
	"testing"

	"github.com/idemlint/idemlint/analyzers/internal/sqltext"
)

func TestTheFilterLetsEveryStatementPass(t *testing.T) {
	for _, st := range sqltext.Parse(corpus(t)) {
		switch st.Kind {
		case sqltext.Unknown, sqltext.Begin, sqltext.Commit, sqltext.Rollback, sqltext.Savepoint, sqltext.Other:
			continue
		}
		if !sqltext.MayBeSQL(st.Text) {
			t.Errorf("the filter stops %v: %s", st.Kind, st.Text)
		}
	}
	for _, s := range []string{
		"\n\t  insert into t values (1)", "-- name: X :exec\nINSERT INTO t VALUES (1)", "/* a */ -- b\n(SELECT 1)",
		"\x00 SELECT 1", "{{ .Prefix }} DELETE FROM t", "\ufeffCREATE TABLE t (a int)", "; BEGIN; COMMIT;",
	} {
		if !sqltext.MayBeSQL(s) {
			t.Errorf("the filter stops %q", s)
		}
	}
}

func TestTheFilterStopsWhatCannotBeSQL(t *testing.T) {
	for _, s := range []string{
		"", "SELECT", "updated", "update.sql", "insert-only", "deleted %d rows", "selection", "application/json",
		"github.com/jackc/pgx/v5", "failed to update order: %w", "{{ .Name", "create_table", "with", "/* never closed",
		"with=1", "\x00\x00\x00\x00\x00\x00",
	} {
		if sqltext.MayBeSQL(s) {
			t.Errorf("the filter lets %q pass", s)
		}
	}
}

func TestTheFilterDoesNotAllocate(t *testing.T) {
	texts := []string{"-- name: X :exec\nINSERT INTO t VALUES (1)", "failed to update order: %w", "Update something"}
	if n := testing.AllocsPerRun(100, func() {
		for _, s := range texts {
			sqltext.MayBeSQL(s)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
