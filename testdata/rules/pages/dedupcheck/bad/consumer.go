// Package points credits points whenever an order comes by.
package points

import (
	"context"
	"encoding/json"

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
func (c *Consumer) OnOrderPlaced(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var evt OrderPlaced
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	_, err := c.pool.Exec(ctx, `UPDATE customer SET points = points + $2 WHERE id = $1`, evt.CustomerID, evt.Points)
	return err
}

// page:end
