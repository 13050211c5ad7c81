// Package store keeps its statement in a file, and handles its violation on the pool.
package store

import (
	"context"
	_ "embed"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed mark.sql
var markSQL string

// Mark reports whether the event is new.
func Mark(ctx context.Context, pool *pgxpool.Pool, id string) (bool, error) {
	_, err := pool.Exec(ctx, markSQL, id)
	var pe *pgconn.PgError
	if errors.As(err, &pe) && pe.Code == "23505" {
		return false, nil
	}
	return err == nil, err
}

// Loop forgets.
func Loop(ctx context.Context, pool *pgxpool.Pool) {
	_, _ = pool.Exec(ctx, `DELETE FROM processed_rail_events WHERE at < now() - interval '7 days'`)
}
