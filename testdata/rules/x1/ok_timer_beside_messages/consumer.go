// Package tick consumes with a dedup guard and purges on a timer.
package tick

import (
	"context"
	"database/sql"
	"log"
	"time"

	"github.com/IBM/sarama"
)

type H struct{ db *sql.DB }

func (h *H) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *H) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *H) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	for {
		select {
		case m, ok := <-c.Messages():
			if !ok {
				return nil
			}
			if err := h.handle(s.Context(), m); err != nil {
				return err
			}
			s.MarkMessage(m, "")
		case now := <-t.C:
			if _, err := h.db.ExecContext(s.Context(), "DELETE FROM processed_ticks WHERE processed_at < $1", now.AddDate(0, 0, -7)); err != nil {
				log.Print(err)
			}
			if _, err := h.db.ExecContext(s.Context(), "INSERT INTO heartbeat (at) VALUES ($1)", now); err != nil {
				log.Print(err)
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func (h *H) handle(ctx context.Context, m *sarama.ConsumerMessage) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, "INSERT INTO processed_ticks (event_id) VALUES ($1) ON CONFLICT DO NOTHING", string(m.Key))
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO ledger (amount) VALUES ($1)", string(m.Value)); err != nil {
		return err
	}
	return tx.Commit()
}
