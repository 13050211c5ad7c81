// Command named_exec_layers counts visits of kiosks.
package main

import (
	"context"
	"encoding/json"
	"log"

	"github.com/jmoiron/sqlx"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r2/named_exec_layers/inbox"
)

type seen interface {
	Known(ctx context.Context, id string) (bool, error)
	Save(ctx context.Context, id string) error
}

type visit struct {
	EventID string `json:"event_id"`
	Kiosk   string `json:"kiosk"`
}

type counter struct {
	seen  seen
	redis *redis.Client
}

func (c *counter) handle(ctx context.Context, msg kafka.Message) error {
	var v visit
	if err := json.Unmarshal(msg.Value, &v); err != nil {
		return err
	}
	known, err := c.seen.Known(ctx, v.EventID)
	if err != nil || known {
		return err
	}
	if err := c.redis.Incr(ctx, v.Kiosk).Err(); err != nil {
		return err
	}
	return c.seen.Save(ctx, v.EventID)
}

func main() {
	ctx := context.Background()
	store := &inbox.Store{DB: sqlx.MustOpen("mysql", "kiosk")}
	if err := store.Tidy(ctx); err != nil {
		log.Fatal(err)
	}
	c := &counter{seen: store, redis: redis.NewClient(&redis.Options{})}
	r := kafka.NewReader(kafka.ReaderConfig{Topic: "visits", GroupID: "kiosk"})
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if err := c.handle(ctx, msg); err != nil {
			log.Fatal(err)
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			log.Fatal(err)
		}
	}
}
