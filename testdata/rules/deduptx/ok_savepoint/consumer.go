// Package museums lets visitors in. The work has a savepoint within the transaction of the mark.
package museums

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type VisitPaid struct {
	EventID string `json:"event_id"`
	Museum  string `json:"museum"`
}

type Consumer struct {
	pool *pgxpool.Pool
}

func (c *Consumer) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt VisitPaid
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
			_, err := sp.Exec(ctx, `UPDATE museums SET visitors = visitors + 1 WHERE name = $1`, evt.Museum)
			return err
		})
	})
}
