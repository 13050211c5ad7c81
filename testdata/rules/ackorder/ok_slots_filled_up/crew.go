// Package ok_slots_filled_up bounds its workers by a channel and takes every slot before it acknowledges.
package ok_slots_filled_up

import (
	"context"
	"database/sql"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/semaphore"
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
		for range cap(slots) {
			slots <- struct{}{}
		}
		if err := c.client.CommitUncommittedOffsets(ctx); err != nil {
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

// Dock keeps its slots for longer than a batch.
type Dock struct {
	Crew
	slots chan bool
	size  int
}

func (d *Dock) Run(ctx context.Context) {
	for ctx.Err() == nil {
		fetches := d.client.PollFetches(ctx)
		for it := fetches.RecordIter(); !it.Done(); {
			rec := it.Next()
			d.slots <- true
			go func() {
				defer func() { <-d.slots }()
				for d.unload(ctx, rec) != nil {
					log.Print("once more")
				}
			}()
		}
		for i := 0; i < d.size; i++ {
			d.slots <- true
		}
		for range d.size {
			<-d.slots
		}
		if err := d.client.CommitUncommittedOffsets(ctx); err != nil {
			log.Print(err)
		}
	}
}

// Quay bounds its workers by a semaphore of its own.
type Quay struct {
	Crew
	slots *semaphore.Weighted
}

const berths = 4

func (q *Quay) Run(ctx context.Context) error {
	for {
		fetches := q.client.PollFetches(ctx)
		for it := fetches.RecordIter(); !it.Done(); {
			rec := it.Next()
			if err := q.slots.Acquire(ctx, 1); err != nil {
				return err
			}
			go func() {
				defer q.slots.Release(1)
				for q.unload(ctx, rec) != nil {
					log.Print("once more")
				}
			}()
		}
		if err := q.slots.Acquire(ctx, berths); err != nil {
			return err
		}
		q.slots.Release(berths)
		if err := q.client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}
