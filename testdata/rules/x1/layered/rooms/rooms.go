// Package rooms books rooms in the database.
package rooms

import (
	"context"
	"database/sql"
)

type Store struct{ db *sql.DB }

func New(db *sql.DB) *Store { return &Store{db: db} }

// Book books a room once more.
func (s *Store) Book(ctx context.Context, room int64) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO bookings (room) VALUES ($1)`, room)
	return err
}
