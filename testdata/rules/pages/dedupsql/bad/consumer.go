// Package points takes a repeat for a failure.
package points

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type OrderPlaced struct {
	EventID    string `json:"event_id"`
	CustomerID int64  `json:"customer_id"`
	Points     int    `json:"points"`
}

type Consumer struct {
	pool *pgxpool.Pool
}

// page:begin
func (c *Consumer) OnOrderPlaced(ctx context.Context, rec *kgo.Record) error {
	var evt OrderPlaced
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1)`, evt.EventID) // want R-KFK-IDEM-2
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE customer SET points = points + $2 WHERE id = $1`, evt.CustomerID, evt.Points)
		return err
	})
}

// page:end
