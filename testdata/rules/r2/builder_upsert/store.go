// Package store marks with squirrel; the suffix updates the row that is there.
package store

import (
	"context"
	"database/sql"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// Mark reports whether the message is new.
func Mark(ctx context.Context, tx *sql.Tx, messageID, consumer string) (bool, error) {
	res, err := sq.StatementBuilder.
		PlaceholderFormat(sq.Dollar).
		Insert("inbox_of_fleet").
		Columns("message_id", "consumer").
		Values(messageID, consumer).
		Suffix("ON CONFLICT (message_id, consumer) DO UPDATE SET consumer = EXCLUDED.consumer"). // want R-KFK-IDEM-2
		RunWith(tx).
		ExecContext(ctx)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// Daily forgets old messages.
func Daily(ctx context.Context, db *sql.DB, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(24 * time.Hour):
		}
		if err := purge(ctx, db); err != nil {
			return err
		}
	}
}

func purge(ctx context.Context, db *sql.DB) error {
	_, err := sq.Delete("inbox_of_fleet").
		Where("received_at < ?", time.Now().AddDate(0, 0, -7)).
		RunWith(db).ExecContext(ctx)
	return err
}
