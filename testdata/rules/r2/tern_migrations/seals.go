// Package seals has migrations of tern's: what takes one back stands below a line, in the same file.
package seals

import (
	"context"

	"github.com/jackc/pgx/v5"
)

func Mark(ctx context.Context, tx pgx.Tx, eventID string) (bool, error) {
	tag, err := tx.Exec(ctx, `INSERT INTO seal_inbox (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, eventID)
	return err == nil && tag.RowsAffected() == 1, err
}
