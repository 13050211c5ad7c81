// Package kilns counts pots. The header's name is compared as bytes.
package kilns

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type PotFired struct {
	Kiln int `json:"kiln"`
}

type Handler struct {
	pool *pgxpool.Pool
}

func messageID(msg *sarama.ConsumerMessage) string {
	for _, h := range msg.Headers {
		if bytes.Equal(h.Key, []byte("message_id")) { // want R-KFK-IDEM-1
			return string(h.Value)
		}
	}
	return ""
}

func (h *Handler) Handle(ctx context.Context, msg *sarama.ConsumerMessage) error {
	var evt PotFired
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, messageID(msg))
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE kilns SET pots = pots + 1 WHERE id = $1`, evt.Kiln)
		return err
	})
}
