// Package ferries sells ferry tickets. A helper marks on the pool; the work has a transaction of its own.
package ferries

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/IBM/sarama"
)

type TicketSold struct {
	EventID string `json:"event_id"`
	Ferry   string `json:"ferry"`
	Seats   int    `json:"seats"`
}

type Handler struct {
	sarama.ConsumerGroupHandler
	db *sql.DB
}

func (h *Handler) ConsumeClaim(sess sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		var evt TicketSold
		if err := json.Unmarshal(msg.Value, &evt); err != nil {
			return fmt.Errorf("decode: %w", err)
		}
		fresh, err := h.remember(sess.Context(), evt.EventID) // want R-KFK-IDEM-3
		if err != nil {
			return err
		}
		if fresh {
			if err := h.sell(sess.Context(), evt); err != nil {
				return err
			}
		}
		sess.MarkMessage(msg, "")
	}
	return nil
}

func (h *Handler) remember(ctx context.Context, id string) (bool, error) {
	res, err := h.db.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

func (h *Handler) sell(ctx context.Context, evt TicketSold) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `UPDATE ferries SET free = free - $2 WHERE name = $1`, evt.Ferry, evt.Seats); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO sales (ferry, seats) VALUES ($1, $2)`, evt.Ferry, evt.Seats); err != nil {
		return err
	}
	return tx.Commit()
}
