// Package wrapper keeps what could not be done in a table of dead letters, in a transaction of its own.
package wrapper

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/segmentio/kafka-go"
)

// Box handles messages.
type Box struct{ db *sql.DB }

// Run handles what comes.
func (b *Box) Run(ctx context.Context, r *kafka.Reader) error {
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := b.open(ctx, msg); err != nil {
			if err := b.bury(ctx, msg, err); err != nil {
				return err
			}
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (b *Box) open(ctx context.Context, msg kafka.Message) error {
	var e struct {
		ID   string `json:"id"`
		Body string `json:"body"`
	}
	if err := json.Unmarshal(msg.Value, &e); err != nil {
		return err
	}
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_boxes (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, e.ID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO boxes (body) VALUES ($1)`, e.Body); err != nil {
		return err
	}
	return tx.Commit()
}

func (b *Box) bury(ctx context.Context, msg kafka.Message, cause error) error {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `INSERT INTO dead_letters (topic, payload, reason) VALUES ($1, $2, $3)`, msg.Topic, msg.Value, cause.Error()); err != nil {
		return err
	}
	return tx.Commit()
}
