// Package clicks stores clicks in batches: one statement marks the batch, and only what it returns is stored.
package clicks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Click struct {
	EventID uuid.UUID `json:"event_id"`
	Page    string    `json:"page"`
}

type Consumer struct {
	cl   *kgo.Client
	pool *pgxpool.Pool
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		fs := c.cl.PollRecords(ctx, 500)
		if err := fs.Err(); err != nil {
			return err
		}
		if err := c.store(ctx, fs.Records()); err != nil {
			return err
		}
		if err := c.cl.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (c *Consumer) store(ctx context.Context, recs []*kgo.Record) error {
	var ids []uuid.UUID
	var all []Click
	for _, rec := range recs {
		var k Click
		if err := json.Unmarshal(rec.Value, &k); err != nil {
			return err
		}
		ids, all = append(ids, k.EventID), append(all, k)
	}
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `INSERT INTO processed_event (event_id) SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING RETURNING event_id`, ids)
		if err != nil {
			return err
		}
		fresh := make(map[uuid.UUID]bool)
		for rows.Next() {
			var id uuid.UUID
			if err := rows.Scan(&id); err != nil {
				return err
			}
			fresh[id] = true
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for _, k := range all {
			if !fresh[k.EventID] {
				continue
			}
			if _, err := tx.Exec(ctx, `INSERT INTO clicks (page) VALUES ($1)`, k.Page); err != nil {
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
