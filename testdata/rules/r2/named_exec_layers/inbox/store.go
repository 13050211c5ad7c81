// Package inbox looks and saves through sqlx.
package inbox

import (
	"context"

	"github.com/jmoiron/sqlx"
)

type row struct {
	EventID string `db:"event_id"`
	Group   string `db:"consumer_group"`
}

// Store remembers events.
type Store struct{ DB *sqlx.DB }

// Known reports whether an event was saved.
func (s *Store) Known(ctx context.Context, id string) (bool, error) {
	var n int
	err := s.DB.GetContext(ctx, &n, "SELECT count(*) FROM consumed_kiosk_events WHERE event_id = ?", id)
	return n > 0, err
}

// Save saves it.
func (s *Store) Save(ctx context.Context, id string) error {
	const mark = "INSERT INTO consumed_kiosk_events (event_id, consumer_group) " + // want R-KFK-IDEM-2
		"VALUES (:event_id, :consumer_group)"
	_, err := s.DB.NamedExecContext(ctx, mark, row{id, "kiosk"})
	return err
}

// Tidy removes old rows.
func (s *Store) Tidy(ctx context.Context) error {
	_, err := s.DB.ExecContext(ctx, "DELETE FROM consumed_kiosk_events WHERE created_at < NOW() - INTERVAL 7 DAY")
	return err
}
