// Package store marks on the pool; a helper of another package, which knows no driver, tells the violation.
package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/fixtures/r2/state_interface/pgerr"
)

// Mark reports whether the event is new.
func Mark(ctx context.Context, pool *pgxpool.Pool, id string) (bool, error) {
	switch _, err := pool.Exec(ctx, `INSERT INTO processed_dock_events (event_id) VALUES ($1)`, id); {
	case pgerr.Duplicate(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("mark: %w", err)
	}
	return true, nil
}

// Loop forgets.
func Loop(ctx context.Context, pool *pgxpool.Pool) {
	_, _ = pool.Exec(ctx, `DELETE FROM processed_dock_events WHERE at < now() - interval '7 days'`)
}
