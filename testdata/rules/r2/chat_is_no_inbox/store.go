// Package store keeps what a chat received, and an outbox. Neither tells repeats.
package store

import (
	"context"
	"database/sql"
)

// Store keeps it.
type Store struct{ db *sql.DB }

// Add adds a message.
func (s *Store) Add(ctx context.Context, room, body string) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO room_messages (room, body) VALUES ($1, $2)`, room, body)
	return err
}

// Emit puts an event into the outbox.
func (s *Store) Emit(ctx context.Context, id string, body []byte) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO message_outbox (event_id, payload) VALUES ($1, $2)`, id, body)
	return err
}
