// Package store takes messages in and works on them later: rows have a payload and a state, and go when they are done.
package store

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"
)

// Schema is applied by the deployment.
//
//go:embed inbox.sql
var Schema string

// Put reports whether the message is new.
func Put(ctx context.Context, tx pgx.Tx, id string, body []byte) (bool, error) {
	tag, err := tx.Exec(ctx, `INSERT INTO crane_inbox (message_id, payload) VALUES ($1, $2)
		ON CONFLICT (message_id) DO NOTHING`, id, body)
	return tag.RowsAffected() == 1, err
}
