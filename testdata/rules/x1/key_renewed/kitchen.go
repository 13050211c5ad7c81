// Package key_renewed puts something to the key of its mark that is another on every delivery.
package key_renewed

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type meal struct {
	EventID string `json:"event_id"`
	Table   string `json:"table"`
}

type Kitchen struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	cache  *redis.Client
}

func (k *Kitchen) RunCached(ctx context.Context) error {
	for {
		m, err := k.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := k.cached(ctx, m); err != nil {
			return err
		}
		if err := k.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (k *Kitchen) cached(ctx context.Context, m kafka.Message) error { // want R-KFK-IDEM-X1
	var order meal
	if err := json.Unmarshal(m.Value, &order); err != nil {
		return err
	}
	first, err := k.cache.SetNX(ctx, order.EventID+":"+strconv.FormatInt(time.Now().UnixNano(), 10), 1, 48*time.Hour).Result()
	if err != nil || !first {
		return err
	}
	_, err = http.Post("http://printer.local/"+order.Table, "text/plain", nil)
	return err
}

func (k *Kitchen) RunMarked(ctx context.Context) error {
	for {
		m, err := k.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := k.marked(ctx, m); err != nil {
			return err
		}
		if err := k.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (k *Kitchen) marked(ctx context.Context, m kafka.Message) error { // want R-KFK-IDEM-X1
	var order meal
	if err := json.Unmarshal(m.Value, &order); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, k.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, order.EventID+"/"+uuid.NewString())
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO dish (tab) VALUES ($1)`, order.Table)
		return err
	})
}
