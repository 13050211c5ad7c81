// Package store puts its statement together; the clause comes last.
package store

import (
	"context"
	"database/sql"
	"strings"
)

// Mark reports whether the events are new, by their number.
func Mark(ctx context.Context, tx *sql.Tx, returning bool, ids ...string) (int64, error) {
	q := "INSERT INTO idempotency_marks_key (event_id) VALUES ($1)"
	q += " ON CONFLICT DO NOTHING"
	if returning {
		q += " RETURNING event_id"
	}
	res, err := tx.ExecContext(ctx, q, ids[0])
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// MarkAll does so for many.
func MarkAll(ctx context.Context, tx *sql.Tx, ids ...string) (int64, error) {
	var b strings.Builder
	b.WriteString("INSERT INTO idempotency_marks_key (event_id) VALUES ")
	for i := range ids {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("(?)")
	}
	b.WriteString(" ON CONFLICT DO NOTHING")
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	res, err := tx.ExecContext(ctx, b.String(), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Loop forgets as it turns.
func Loop(ctx context.Context, db *sql.DB) {
	for ctx.Err() == nil {
		if _, err := db.ExecContext(ctx, "DELETE FROM idempotency_marks_key WHERE created_at < now() - interval '3 days'"); err != nil {
			return
		}
	}
}
