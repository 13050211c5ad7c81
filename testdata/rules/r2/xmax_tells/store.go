// Package store updates the row that is there to have something returned: xmax tells which it was.
package store

import (
	"context"

	"github.com/jackc/pgx/v5"
)

const mark = `
INSERT INTO processed_tram_events (event_id) VALUES ($1)
ON CONFLICT (event_id) DO UPDATE SET event_id = EXCLUDED.event_id
RETURNING (xmax = 0) AS fresh`

// Mark reports whether the event is new.
func Mark(ctx context.Context, tx pgx.Tx, id string) (fresh bool, err error) {
	err = tx.QueryRow(ctx, mark, id).Scan(&fresh)
	return fresh, err
}

// Start writes down the start of the service, and forgets what is old.
func Start(ctx context.Context, tx pgx.Tx, host string) error {
	if _, err := tx.Exec(ctx, `DELETE FROM processed_tram_events WHERE processed_at < now() - interval '9 days'`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE hosts SET started_at = now() WHERE name = $1`, host)
	return err
}
