// Package looms counts cloth. The headers become a map first.
package looms

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/IBM/sarama"
)

type ClothWoven struct {
	Loom   int `json:"loom"`
	Metres int `json:"metres"`
}

type Handler struct {
	sarama.ConsumerGroupHandler
	db *sql.DB
}

func headers(msg *sarama.ConsumerMessage) map[string]string {
	out := make(map[string]string, len(msg.Headers))
	for _, h := range msg.Headers {
		out[string(h.Key)] = string(h.Value)
	}
	return out
}

func (h *Handler) ConsumeClaim(sess sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		var evt ClothWoven
		if err := json.Unmarshal(msg.Value, &evt); err != nil {
			return err
		}
		hs := headers(msg)
		if hs["schema"] != "2" {
			continue
		}
		id := hs["x-event-id"] // want R-KFK-IDEM-1
		if err := h.count(sess.Context(), id, evt); err != nil {
			return err
		}
		sess.MarkMessage(msg, "")
	}
	return nil
}

func (h *Handler) count(ctx context.Context, id string, evt ClothWoven) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE looms SET metres = metres + $2 WHERE id = $1`, evt.Loom, evt.Metres); err != nil {
		return err
	}
	return tx.Commit()
}
