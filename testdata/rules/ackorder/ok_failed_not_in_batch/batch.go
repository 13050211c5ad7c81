// Package canals lists locks. Only what was stored is committed.
package canals

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type LockOpened struct {
	Lock string `json:"lock"`
	Open bool   `json:"open"`
}

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
		var done []*kgo.Record
		for _, rec := range fs.Records() {
			if err := c.store(ctx, rec); err != nil {
				slog.Error("lock", "error", err)
				break
			}
			done = append(done, rec)
		}
		if len(done) > 0 {
			if err := c.cl.CommitRecords(ctx, done...); err != nil {
				return err
			}
		}
	}
}

func (c *Consumer) store(ctx context.Context, rec *kgo.Record) error {
	var evt LockOpened
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	_, err := c.pool.Exec(ctx, `INSERT INTO locks (id, open) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET open = excluded.open`, evt.Lock, evt.Open)
	return err
}
