// Package marks hands a builder's text to pgx; the INSERT has no conflict clause.
package marks

import (
	"context"

	sq "github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5"
)

// Mark notes that a delivery was handled.
func Mark(ctx context.Context, tx pgx.Tx, eventID string) error {
	q, args, err := sq.
		Insert("processed_deliveries_of_kiosk"). // want R-KFK-IDEM-2
		Columns("event_id").
		Values(eventID).
		PlaceholderFormat(sq.Dollar).
		ToSql()
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, q, args...)
	return err
}

// Overwrite takes every delivery for a new one.
func Overwrite(ctx context.Context, tx pgx.Tx, eventID string) (bool, error) {
	b := sq.Insert("processed_deliveries_of_kiosk").Columns("event_id").Values(eventID)
	b = b.Suffix("ON CONFLICT (event_id) DO UPDATE SET event_id = EXCLUDED.event_id") // want R-KFK-IDEM-2
	q, args, err := b.PlaceholderFormat(sq.Dollar).ToSql()
	if err != nil {
		return false, err
	}
	tag, err := tx.Exec(ctx, q, args...)
	return tag.RowsAffected() == 1, err
}

// Sweep removes old marks.
func Sweep(ctx context.Context, tx pgx.Tx) error {
	q, args, err := sq.Delete("processed_deliveries_of_kiosk").Where("handled_at < now() - interval '7 days'").ToSql()
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, q, args...)
	return err
}
