// Package shipping ships: a sentinel error of the repository tells the repeat.
package shipping

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/IBM/sarama"

	"example.com/fixtures/x1/ok_sentinel_of_repository/store"
)

type Packed struct {
	EventID string `json:"event_id"`
	Order   int64  `json:"order"`
}

type Handler struct {
	db    *sql.DB
	inbox store.Inbox
}

func (h *Handler) Setup(s sarama.ConsumerGroupSession) error {
	go store.Expire(s.Context(), h.db)
	return nil
}
func (h *Handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *Handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for msg := range c.Messages() {
		err := h.ship(s.Context(), msg)
		if err != nil && !errors.Is(err, store.ErrSeen) {
			return err
		}
		s.MarkMessage(msg, "")
	}
	return nil
}

func (h *Handler) ship(ctx context.Context, msg *sarama.ConsumerMessage) (err error) {
	var evt Packed
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback()
			return
		}
		err = tx.Commit()
	}()
	if err := h.inbox.Claim(ctx, tx, evt.EventID); err != nil {
		return fmt.Errorf("claim %s: %w", evt.EventID, err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO shipments (order_id) VALUES ($1)`, evt.Order)
	return err
}
