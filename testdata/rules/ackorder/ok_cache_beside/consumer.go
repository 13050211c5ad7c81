// Package menus stores menus. Redis is a cache: what it fails to forget, it forgets later.
package menus

import (
	"context"
	"encoding/json"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type MenuChanged struct {
	Place string `json:"place"`
	Menu  string `json:"menu"`
}

type Consumer struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	rdb    *redis.Client
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var evt MenuChanged
		if err := json.Unmarshal(msg.Value, &evt); err != nil {
			return err
		}
		if _, err := c.pool.Exec(ctx, `INSERT INTO menus (place, menu) VALUES ($1, $2) ON CONFLICT (place) DO UPDATE SET menu = excluded.menu`, evt.Place, evt.Menu); err != nil {
			return err
		}
		if err := c.rdb.Del(ctx, "menu:"+evt.Place).Err(); err != nil {
			log.Println("cache", err)
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
