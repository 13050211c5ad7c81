// Package mills has an outbox; its relay sends the payload, which has an id of its own.
package mills

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
)

func Grind(ctx context.Context, tx *sql.Tx, payload []byte) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO grain_outbox (id, payload) VALUES ($1, $2)`, uuid.NewString(), payload)
	return err
}

func Relay(ctx context.Context, db *sql.DB, w *kafka.Writer) error {
	var id string
	var payload []byte
	if err := db.QueryRowContext(ctx, `SELECT id, payload FROM grain_outbox LIMIT 1`).Scan(&id, &payload); err != nil {
		return err
	}
	if err := w.WriteMessages(ctx, kafka.Message{Key: []byte(id), Value: payload}); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `DELETE FROM grain_outbox WHERE id = $1`, id)
	return err
}
