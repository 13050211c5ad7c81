// Package snow counts snow. A failed message is not marked; that a later mark passes over it is another matter.
package snow

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5/pgxpool"
)

type SnowFell struct {
	Place string `json:"place"`
	Cm    int    `json:"cm"`
}

type Handler struct {
	sarama.ConsumerGroupHandler
	pool *pgxpool.Pool
}

func (h *Handler) ConsumeClaim(sess sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case msg, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			if err := h.store(sess.Context(), msg.Value); err != nil {
				slog.Error("snow", "error", err)
				continue
			}
			sess.MarkMessage(msg, "")
		case <-sess.Context().Done():
			return nil
		}
	}
}

func (h *Handler) store(ctx context.Context, value []byte) error {
	var evt SnowFell
	if err := json.Unmarshal(value, &evt); err != nil {
		return err
	}
	_, err := h.pool.Exec(ctx, `INSERT INTO snow (place, cm) VALUES ($1, $2) ON CONFLICT (place) DO UPDATE SET cm = excluded.cm`, evt.Place, evt.Cm)
	return err
}
