// Package lottery counts tickets. The mark is a Redis key, set when the database has the ticket already.
package lottery

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type TicketBought struct {
	EventID string `json:"event_id"`
	Draw    int    `json:"draw"`
}

type Consumer struct {
	reader *kafka.Reader
	rdb    *redis.Client
	pool   *pgxpool.Pool
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.handle(ctx, msg); err != nil {
			return err
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (c *Consumer) handle(ctx context.Context, msg kafka.Message) error {
	var evt TicketBought
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	key := "lottery:done:" + evt.EventID
	n, err := c.rdb.Exists(ctx, key).Result()
	if err != nil {
		return err
	}
	if n > 0 {
		return nil
	}
	if _, err := c.pool.Exec(ctx, `UPDATE draws SET tickets = tickets + 1 WHERE id = $1`, evt.Draw); err != nil {
		return err
	}
	return c.rdb.Set(ctx, key, 1, 24*time.Hour).Err() // want R-KFK-IDEM-3
}
