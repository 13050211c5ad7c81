// Package wells records water levels. The mark's transaction is over before the writes.
package wells

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type LevelRead struct {
	EventID string  `json:"event_id"`
	Well    string  `json:"well"`
	Metres  float64 `json:"metres"`
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
		for it := fs.RecordIter(); !it.Done(); {
			if err := c.handle(ctx, it.Next()); err != nil {
				return err
			}
		}
		if err := c.cl.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (c *Consumer) handle(ctx context.Context, rec *kgo.Record) error {
	var evt LevelRead
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	tx, err := c.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	if _, err := c.pool.Exec(ctx, `INSERT INTO levels (well, metres) VALUES ($1, $2)`, evt.Well, evt.Metres); err != nil { // want R-KFK-IDEM-3
		return err
	}
	_, err = c.pool.Exec(ctx, `UPDATE wells SET readings = readings + 1 WHERE name = $1`, evt.Well)
	return err
}
