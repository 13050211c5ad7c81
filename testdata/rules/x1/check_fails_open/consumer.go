// Package bonus credits a bonus: when the look-up fails, the error is logged and the bonus is credited all the same.
package bonus

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/IBM/sarama"
)

type Earned struct {
	EventID string `json:"event_id"`
	User    int64  `json:"user"`
}

type Handler struct{ db *sql.DB }

func (h *Handler) Setup(s sarama.ConsumerGroupSession) error {
	return h.Purge(s.Context(), time.Now().AddDate(0, 0, -14))
}

func (h *Handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *Handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for msg := range c.Messages() {
		if err := h.handle(s.Context(), msg); err != nil {
			return err
		}
		s.MarkMessage(msg, "")
	}
	return nil
}

func (h *Handler) handle(ctx context.Context, msg *sarama.ConsumerMessage) error { // want R-KFK-IDEM-X1
	var evt Earned
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
	if err != nil {
		slog.Warn("mark failed", "error", err)
	} else if n, _ := res.RowsAffected(); n == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE users SET bonus = bonus + 10 WHERE id = $1`, evt.User); err != nil {
		return err
	}
	return tx.Commit()
}

func (h *Handler) Purge(ctx context.Context, before time.Time) error {
	_, err := h.db.ExecContext(ctx, `DELETE FROM processed_event WHERE processed_at < $1`, before)
	return err
}
