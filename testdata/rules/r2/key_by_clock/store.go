// Package migrate keeps its migrations in Go. The key ends with the time that each try takes from the clock.
package migrate

import (
	"context"
	"database/sql"
	"time"
)

var steps = []string{
	`CREATE TABLE stations (id bigint PRIMARY KEY, name text NOT NULL)`,
	`CREATE TABLE consumed_station_events ( -- want R-KFK-IDEM-2
		event_id uuid NOT NULL,
		seen_at  timestamptz NOT NULL,
		PRIMARY KEY (event_id, seen_at)
	)`,
}

// Up creates the tables.
func Up(ctx context.Context, db *sql.DB) error {
	for _, s := range steps {
		if _, err := db.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	_, err := db.ExecContext(ctx, "DELETE FROM consumed_station_events WHERE seen_at < now() - interval '1 month'")
	return err
}

// Mark reports whether the event is new.
func Mark(ctx context.Context, tx *sql.Tx, eventID string) (bool, error) {
	now := time.Now().UTC()
	res, err := tx.ExecContext(ctx,
		`INSERT INTO consumed_station_events (event_id, seen_at) VALUES ($1, $2) ON CONFLICT DO NOTHING`, eventID, now)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}
