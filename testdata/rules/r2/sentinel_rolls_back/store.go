// Package loyalty adds points. The violation leaves the transaction as an error of its own, and only outside it is taken
// for a duplicate.
package loyalty

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5/pgconn"
)

var errKnown = errors.New("event is known")

type Bought struct {
	EventID string `json:"event_id"`
	Member  int64  `json:"member"`
	Points  int64  `json:"points"`
}

type Handler struct{ db *sql.DB }

func (h *Handler) Setup(s sarama.ConsumerGroupSession) error {
	return h.forget(s.Context())
}

func (h *Handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *Handler) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		var evt Bought
		if err := json.Unmarshal(msg.Value, &evt); err != nil {
			return err
		}
		if err := h.add(s.Context(), evt); err != nil && !errors.Is(err, errKnown) {
			return err
		}
		s.MarkMessage(msg, "")
	}
	return nil
}

func (h *Handler) add(ctx context.Context, evt Bought) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, `INSERT INTO consumed_purchases (event_id) VALUES ($1)`, evt.EventID); err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Code == "23505" {
			return errKnown
		}
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE members SET points = points + $2 WHERE id = $1`, evt.Member, evt.Points); err != nil {
		return err
	}
	return tx.Commit()
}

func (h *Handler) forget(ctx context.Context) error {
	_, err := h.db.ExecContext(ctx, `DELETE FROM consumed_purchases WHERE consumed_at < now() - interval '9 days'`)
	return err
}
