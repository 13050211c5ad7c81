// Package heartbeats stores a batch: the ids that were new are collected, and only these are counted.
package heartbeats

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Consumer struct {
	cl   *kgo.Client
	pool *pgxpool.Pool
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		fs := c.cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return err
		}
		if err := c.count(ctx, fs.Records()); err != nil {
			return err
		}
		if err := c.cl.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (c *Consumer) count(ctx context.Context, recs []*kgo.Record) error {
	var ids []string
	for _, r := range recs {
		var e struct {
			EventID string `json:"event_id"`
		}
		if err := json.Unmarshal(r.Value, &e); err != nil {
			return err
		}
		ids = append(ids, e.EventID)
	}
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `INSERT INTO processed_event (event_id) SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING RETURNING event_id`, ids)
		if err != nil {
			return err
		}
		fresh, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for range fresh {
			if _, err := tx.Exec(ctx, `UPDATE totals SET beats = beats + 1`); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Consumer) Purge(ctx context.Context, before time.Time) error {
	_, err := c.pool.Exec(ctx, `DELETE FROM processed_event WHERE processed_at < $1`, before)
	return err
}
