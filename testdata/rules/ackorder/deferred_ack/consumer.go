// Package lamps switches street lamps. The deferred mark comes whatever happened.
package lamps

import (
	"context"
	"encoding/json"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type LampSwitched struct {
	Lamp string `json:"lamp"`
	On   bool   `json:"on"`
}

type Consumer struct {
	cl   *kgo.Client
	pool *pgxpool.Pool
}

func (c *Consumer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		fs := c.cl.PollFetches(ctx)
		fs.EachRecord(func(rec *kgo.Record) {
			if err := c.handle(ctx, rec); err != nil {
				log.Println("lamp", err)
			}
		})
	}
}

func (c *Consumer) handle(ctx context.Context, rec *kgo.Record) error {
	defer c.cl.MarkCommitRecords(rec) // want R-KFK-IDEM-3
	var evt LampSwitched
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	_, err := c.pool.Exec(ctx, `INSERT INTO lamps (id, lit) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET lit = excluded.lit`, evt.Lamp, evt.On)
	return err
}
