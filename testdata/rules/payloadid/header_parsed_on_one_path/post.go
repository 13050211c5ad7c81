// Package post takes the id of a letter's event out of a map of headers, where there is one, and parses it.
package post

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
)

type Letter struct {
	Body      []byte
	MessageID uuid.UUID
}

func toLetter(m kafka.Message) Letter {
	h := make(map[string]string, len(m.Headers))
	for _, kv := range m.Headers {
		h[kv.Key] = string(kv.Value)
	}
	var id uuid.UUID
	if v, ok := h["message_id"]; ok { // want R-KFK-IDEM-1
		if parsed, err := uuid.Parse(v); err == nil {
			id = parsed
		}
	}
	return Letter{Body: m.Value, MessageID: id}
}

func Run(ctx context.Context, r *kafka.Reader, handle func(context.Context, Letter) error) error {
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := handle(ctx, toLetter(m)); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

type Office struct{ db *sql.DB }

func (o *Office) sort(ctx context.Context, l Letter) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, l.MessageID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO letters (body) VALUES ($1)`, l.Body); err != nil {
		return err
	}
	return tx.Commit()
}

func Start(ctx context.Context, r *kafka.Reader, o *Office) error { return Run(ctx, r, o.sort) }
