// Package gates opens gates. It looks first and marks last, but holds a lock of the event from before the look to the
// end of the transaction.
package gates

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type opened struct {
	EventID string `json:"event_id"`
	Gate    string `json:"gate"`
}

// Handler opens.
type Handler struct{ pool *pgxpool.Pool }

// Handle opens one.
func (h *Handler) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt opened
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, evt.EventID); err != nil {
			return err
		}
		var known bool
		if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM processed_gate_events WHERE event_id = $1)`, evt.EventID).Scan(&known); err != nil {
			return err
		}
		if known {
			return nil
		}
		if _, err := tx.Exec(ctx, `UPDATE gates SET opened = opened + 1 WHERE name = $1`, evt.Gate); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO processed_gate_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
		return err
	})
}

// Open forgets.
func Open(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `DELETE FROM processed_gate_events WHERE at < now() - interval '7 days'`)
	return err
}
