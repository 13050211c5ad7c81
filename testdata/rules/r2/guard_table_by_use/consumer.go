// Package lights switches lights. Its table is named after nothing, but the check goes by it, and all it holds is marks:
// it is a dedup table, and its key never conflicts.
package lights

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

const ddl = `CREATE TABLE switch_log (event_id uuid NOT NULL, consumer text NOT NULL, at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (event_id, at))` // want R-KFK-IDEM-2

type switched struct {
	EventID string `json:"event_id"`
	Lamp    string `json:"lamp"`
}

// Handler switches.
type Handler struct{ pool *pgxpool.Pool }

// Handle switches one.
func (h *Handler) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt switched
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO switch_log (event_id, consumer) VALUES ($1, 'lights') ON CONFLICT DO NOTHING`, evt.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE lamps SET switched = switched + 1 WHERE name = $1`, evt.Lamp)
		return err
	})
}

// Open creates the table and forgets.
func Open(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, ddl); err != nil {
		return err
	}
	_, err := pool.Exec(ctx, `DELETE FROM switch_log WHERE at < now() - interval '7 days'`)
	return err
}
