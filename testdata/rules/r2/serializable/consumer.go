// Package ledger books under serializable isolation: of two transactions that both look and insert, one fails.
package ledger

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/IBM/sarama"
)

type booked struct {
	EventID string `json:"event_id"`
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

// Handler books.
type Handler struct{ db *sql.DB }

func (h *Handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *Handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *Handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for msg := range c.Messages() {
		if err := h.book(s.Context(), msg); err != nil {
			return err
		}
		s.MarkMessage(msg, "")
	}
	_, err := h.db.ExecContext(s.Context(), `DELETE FROM processed_booking_events WHERE at < now() - interval '7 days'`)
	return err
}

func (h *Handler) book(ctx context.Context, msg *sarama.ConsumerMessage) error {
	var evt booked
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	tx, err := h.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM processed_booking_events WHERE event_id = $1`, evt.EventID).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO bookings (account, cents) VALUES ($1, $2)`, evt.Account, evt.Cents); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO processed_booking_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID); err != nil {
		return err
	}
	return tx.Commit()
}
