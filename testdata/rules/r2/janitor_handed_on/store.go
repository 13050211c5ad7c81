// Package store hands its janitor to a scheduler as a method value.
package store

import (
	"context"
	"database/sql"
	"time"
)

const ddl = `CREATE TABLE IF NOT EXISTS handled_event_ids (event_id text PRIMARY KEY, handled_at timestamptz NOT NULL DEFAULT now())`

// Scheduler runs what it is given.
type Scheduler interface {
	Every(d time.Duration, job func(context.Context) error)
}

type store struct{ db *sql.DB }

// Open creates the table and has it purged.
func Open(ctx context.Context, db *sql.DB, s Scheduler) error {
	st := &store{db: db}
	s.Every(time.Hour, st.Purge)
	_, err := db.ExecContext(ctx, ddl)
	return err
}

// Purge forgets.
func (s *store) Purge(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM handled_event_ids WHERE handled_at < now() - interval '3 days'`)
	return err
}
