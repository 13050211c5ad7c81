// Package store has a janitor that nothing calls but a test.
package store

import (
	"context"
	"database/sql"
)

const ddl = `CREATE TABLE IF NOT EXISTS processed_door_events (event_id text PRIMARY KEY, handled_at timestamptz NOT NULL DEFAULT now())` // want-alone R-KFK-IDEM-2

// Store keeps the marks.
type Store struct{ db *sql.DB }

// Open creates the table.
func Open(ctx context.Context, db *sql.DB) (*Store, error) {
	_, err := db.ExecContext(ctx, ddl)
	return &Store{db: db}, err
}

// Purge forgets.
func (s *Store) Purge(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM processed_door_events WHERE handled_at < now() - interval '3 days'`)
	return err
}
