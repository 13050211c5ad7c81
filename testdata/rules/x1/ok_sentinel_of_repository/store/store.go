// Package store keeps what was seen.
package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// ErrSeen says that the event was handled before.
var ErrSeen = errors.New("store: event was handled before")

type Inbox struct{}

// Claim claims the event in tx.
func (Inbox) Claim(ctx context.Context, tx *sql.Tx, id string) error {
	res, err := tx.ExecContext(ctx, `INSERT INTO inbox_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrSeen
	}
	return nil
}

// Expire is run by a timer.
func Expire(ctx context.Context, db *sql.DB) {
	for range time.Tick(time.Hour) {
		_, _ = db.ExecContext(ctx, `DELETE FROM inbox_events WHERE received_at < now() - interval '7 days'`)
	}
}
