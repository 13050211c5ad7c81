// Package slots_taken_singly bounds its workers by a channel, which says nothing of when they are done.
package slots_taken_singly

import (
	"context"
	"database/sql"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Crew struct {
	client *kgo.Client
	db     *sql.DB
}

func (c *Crew) Run(ctx context.Context) {
	for ctx.Err() == nil {
		slots := make(chan struct{}, 8)
		fetches := c.client.PollFetches(ctx)
		fetches.EachRecord(func(rec *kgo.Record) {
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				for c.unload(ctx, rec) != nil {
					log.Print("once more")
				}
			}()
		})
		if err := c.client.CommitUncommittedOffsets(ctx); err != nil { // want R-KFK-IDEM-3
			log.Print(err)
		}
	}
}

func (c *Crew) unload(ctx context.Context, rec *kgo.Record) error {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, string(rec.Key))
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE hold SET crates = crates + 1 WHERE id = $1`, string(rec.Value)); err != nil {
		return err
	}
	return tx.Commit()
}
