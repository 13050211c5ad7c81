// Package bakers is another program, whose table has the same name: it sends the row's id, which is sorted by time.
package bakers

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
)

func Bake(ctx context.Context, tx *sql.Tx, payload []byte) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO grain_outbox (id, payload) VALUES ($1, $2)`, id, payload)
	return err
}

func Relay(ctx context.Context, db *sql.DB, w *kafka.Writer) error {
	var id string
	var payload []byte
	if err := db.QueryRowContext(ctx, `SELECT id, payload FROM grain_outbox LIMIT 1`).Scan(&id, &payload); err != nil {
		return err
	}
	msg := kafka.Message{Value: payload, Headers: []kafka.Header{{Key: "event_id", Value: []byte(id)}}}
	if err := w.WriteMessages(ctx, msg); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `DELETE FROM grain_outbox WHERE id = $1`, id)
	return err
}
