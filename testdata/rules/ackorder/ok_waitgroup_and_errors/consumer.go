// Package hives weighs bee hives. The records of a batch are stored side by side, and the commit waits for them and
// for their errors.
package hives

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type HiveWeighed struct {
	Hive string `json:"hive"`
	Kg   int    `json:"kg"`
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
		var (
			wg    sync.WaitGroup
			mu    sync.Mutex
			first error
		)
		for _, rec := range fs.Records() {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if err := c.store(ctx, rec); err != nil {
					mu.Lock()
					defer mu.Unlock()
					first = err
				}
			}()
		}
		wg.Wait()
		if first != nil {
			return first
		}
		if err := c.cl.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (c *Consumer) store(ctx context.Context, rec *kgo.Record) error {
	var evt HiveWeighed
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	_, err := c.pool.Exec(ctx, `INSERT INTO hives (id, kg) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET kg = excluded.kg`, evt.Hive, evt.Kg)
	return err
}
