// Package store has one statement for all its tables, whose names come as arguments.
package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

func insertSQL(table string) string {
	return fmt.Sprintf(`INSERT INTO %s (event_id) VALUES ($1)`, table) // want R-KFK-IDEM-2
}

func mark(ctx context.Context, pool *pgxpool.Pool, table, id string) (bool, error) {
	tag, err := pool.Exec(ctx, insertSQL(table), id)
	return tag.RowsAffected() == 1, err
}

func trim(ctx context.Context, pool *pgxpool.Pool, table string) error {
	_, err := pool.Exec(ctx, fmt.Sprintf(`DELETE FROM %s WHERE processed_at < now() - interval '7 days'`, table))
	return err
}

// Mark reports whether the event is new.
func Mark(ctx context.Context, pool *pgxpool.Pool, id string) (bool, error) {
	return mark(ctx, pool, "processed_ski_lift_events", id)
}

// Trim removes old rows.
func Trim(ctx context.Context, pool *pgxpool.Pool) error {
	for _, t := range []string{"processed_ski_lift_events", "audit"} {
		if err := trim(ctx, pool, t); err != nil {
			return err
		}
	}
	return nil
}

// Main is what the service does.
func Main(ctx context.Context, pool *pgxpool.Pool) error { return Trim(ctx, pool) }
