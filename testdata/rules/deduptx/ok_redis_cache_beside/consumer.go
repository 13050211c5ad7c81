// Package podcasts counts listens. Redis only caches the number; what tells repeats is in the transaction.
package podcasts

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Listened struct {
	EventID string `json:"event_id"`
	Episode string `json:"episode"`
}

type Consumer struct {
	pool *pgxpool.Pool
	rdb  *redis.Client
}

func (c *Consumer) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt Listened
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	var n int64
	err := pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return tx.QueryRow(ctx, `UPDATE episodes SET listens = listens + 1 WHERE id = $1 RETURNING listens`, evt.Episode).Scan(&n)
	})
	if err != nil {
		return err
	}
	return c.rdb.Set(ctx, "listens:"+evt.Episode, n, time.Hour).Err()
}
