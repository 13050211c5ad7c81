// Package store prepares its statements. SQLite takes back the failed statement alone, so the violation may be handled in
// the transaction.
package store

import (
	"context"
	"database/sql"
	"strings"
)

// Store has its statements ready.
type Store struct {
	mark, old *sql.Stmt
}

// New prepares them.
func New(ctx context.Context, db *sql.DB) (*Store, error) {
	mark, err := db.PrepareContext(ctx, "INSERT INTO idempotency_keys_of_till (idempotency_key) VALUES (?)")
	if err != nil {
		return nil, err
	}
	old, err := db.PrepareContext(ctx, "DELETE FROM idempotency_keys_of_till WHERE created_at < datetime('now', '-7 days')")
	return &Store{mark: mark, old: old}, err
}

// Do runs work once for a key.
func (s *Store) Do(ctx context.Context, tx *sql.Tx, key string, work func(*sql.Tx) error) error {
	if _, err := tx.StmtContext(ctx, s.mark).ExecContext(ctx, key); err != nil {
		if strings.Contains(err.Error(), "UNIQUE constraint failed") {
			return nil
		}
		return err
	}
	if _, err := tx.StmtContext(ctx, s.old).ExecContext(ctx); err != nil {
		return err
	}
	return work(tx)
}
