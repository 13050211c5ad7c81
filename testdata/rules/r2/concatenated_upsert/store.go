// Package store marks events with an upsert whose table is a constant: a row is written each time.
package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const table = "seen_invoice_events"

var forgetSQL = fmt.Sprintf("DELETE FROM %s WHERE seen_at < $1", table)

// Mark reports whether the event is new.
func Mark(ctx context.Context, tx pgx.Tx, eventID string) (bool, error) {
	query := "INSERT INTO " + table + // want R-KFK-IDEM-2
		" (event_id, seen_at) VALUES ($1, now()) ON CONFLICT (event_id) DO UPDATE SET seen_at = now()"
	tag, err := tx.Exec(ctx, query, eventID)
	if err != nil {
		return false, err
	}
	return tag.RowsAffected() == 1, nil
}

func forget(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, forgetSQL, time.Now().AddDate(0, 0, -8))
	return err
}

// Start has old marks forgotten.
func Start(run func(func(context.Context, pgx.Tx) error)) { run(forget) }
