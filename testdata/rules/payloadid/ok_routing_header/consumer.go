// Package ponds counts fish. A header routes; the id is the payload's.
package ponds

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type FishSeen struct {
	EventID string `json:"event_id"`
	Pond    string `json:"pond"`
}

type Consumer struct {
	pool *pgxpool.Pool
}

func (c *Consumer) Handle(ctx context.Context, rec *kgo.Record) error {
	kind, corr := "", ""
	for _, h := range rec.Headers {
		switch h.Key {
		case "event_type":
			kind = string(h.Value)
		case "correlation_id":
			corr = string(h.Value)
		}
	}
	if kind != "fish.seen" {
		return nil
	}
	var evt FishSeen
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return fmt.Errorf("correlation %s: %w", corr, err)
	}
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE ponds SET fish = fish + 1 WHERE name = $1`, evt.Pond)
		return err
	})
}
