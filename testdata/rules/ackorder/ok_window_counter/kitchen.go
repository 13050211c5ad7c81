// Package kitchen counts how many orders a table has made in the last minute, for a hint. That the counter cannot be
// reached loses no order.
package kitchen

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type OrderMade struct {
	OrderID string `json:"order_id"`
	Table   string `json:"table"`
}

type Kitchen struct {
	r   *kafka.Reader
	rdb *redis.Client
	db  *sql.DB
}

func (k *Kitchen) Run(ctx context.Context) error {
	for {
		m, err := k.r.FetchMessage(ctx) // want R-KFK-IDEM-X1
		if err != nil {
			return err
		}
		var o OrderMade
		if err := json.Unmarshal(m.Value, &o); err != nil {
			return err
		}
		if err := k.take(ctx, o); err != nil {
			return err
		}
		if err := k.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (k *Kitchen) take(ctx context.Context, o OrderMade) error {
	busy := false
	key := "orders:" + o.Table
	pipe := k.rdb.Pipeline()
	n := pipe.Incr(ctx, key)
	pipe.Expire(ctx, key, time.Minute)
	if _, err := pipe.Exec(ctx); err != nil {
		slog.Warn("not counted", "err", err)
	} else {
		busy = n.Val() > 5
	}
	_, err := k.db.ExecContext(ctx, `INSERT INTO orders (id, made_at, busy) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING`, o.OrderID, o.Table, busy)
	return err
}
