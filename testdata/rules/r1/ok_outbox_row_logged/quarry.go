// Package quarry logs the ids of its outbox's rows under the names of event ids, and sends the payloads alone.
package quarry

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
	"go.uber.org/zap"
)

type OutboxMessage struct {
	ID      string
	Topic   string
	Payload []byte
}

type Blasted struct {
	EventID string `json:"event_id"`
	Tons    int    `json:"tons"`
}

func Save(ctx context.Context, tx *sql.Tx, tons int) error {
	payload, err := json.Marshal(Blasted{EventID: uuid.Must(uuid.NewV7()).String(), Tons: tons})
	if err != nil {
		return err
	}
	msg := OutboxMessage{ID: uuid.NewString(), Topic: "stone", Payload: payload}
	_, err = tx.ExecContext(ctx, `INSERT INTO outbox_messages (id, topic, payload) VALUES ($1, $2, $3)`, msg.ID, msg.Topic, msg.Payload)
	return err
}

type Relay struct {
	db  *sql.DB
	w   *kafka.Writer
	log *zap.Logger
}

func (r *Relay) fetch(ctx context.Context) ([]OutboxMessage, error) {
	rows, err := r.db.QueryContext(ctx, `SELECT id, topic, payload FROM outbox_messages WHERE sent_at IS NULL`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []OutboxMessage
	for rows.Next() {
		var m OutboxMessage
		if err := rows.Scan(&m.ID, &m.Topic, &m.Payload); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

func (r *Relay) Sweep(ctx context.Context) error {
	all, err := r.fetch(ctx)
	if err != nil {
		return err
	}
	for _, m := range all {
		eventID := m.ID
		slog.Info("sending", slog.String("message_id", eventID))
		r.log.Info("sending", zap.String("event_id", m.ID))
		trace(map[string]any{"event_id": m.ID})
		if err := r.w.WriteMessages(ctx, kafka.Message{Topic: m.Topic, Key: []byte(m.Topic), Value: m.Payload}); err != nil {
			return err
		}
		if _, err := r.db.ExecContext(ctx, `UPDATE outbox_messages SET sent_at = now() WHERE id = $1`, m.ID); err != nil {
			return err
		}
	}
	return nil
}

func trace(fields map[string]any) {
	for k, v := range fields {
		slog.Info("trace", k, v)
	}
}
