// Package points adds points in one statement that marks the event and works only for a new one.
package points

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Bought struct {
	EventID string `json:"event_id"`
	User    int64  `json:"user"`
	Points  int64  `json:"points"`
}

const add = `
WITH fresh AS (
	INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id
)
UPDATE accounts SET points = points + $3 FROM fresh WHERE accounts.id = $2`

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
		for rec := range fs.RecordsAll() {
			var evt Bought
			if err := json.Unmarshal(rec.Value, &evt); err != nil {
				return err
			}
			if _, err := c.pool.Exec(ctx, add, evt.EventID, evt.User, evt.Points); err != nil {
				return err
			}
		}
		if err := c.cl.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (c *Consumer) Purge(ctx context.Context, before time.Time) error {
	_, err := c.pool.Exec(ctx, `DELETE FROM processed_event WHERE processed_at < $1`, before)
	return err
}
