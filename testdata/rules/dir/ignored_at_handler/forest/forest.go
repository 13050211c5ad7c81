// Package forest counts fallen trees in the database.
package forest

import (
	"context"
	"database/sql"
)

// Stands are the stands of trees.
type Stands struct{ db *sql.DB }

// New returns the stands in db.
func New(db *sql.DB) *Stands { return &Stands{db: db} }

// Fallen counts a tree.
func (s *Stands) Fallen(ctx context.Context, stand string) error {
	_, err := s.db.ExecContext(ctx, `UPDATE stands SET fallen = fallen + 1 WHERE id = $1`, stand)
	return err
}
