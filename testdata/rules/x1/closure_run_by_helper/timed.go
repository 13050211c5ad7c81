// Package timed runs its work in a closure that a helper calls: the function that took the message is the handler.
package timed

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type stopwatch struct{ name string }

func (s *stopwatch) around() func(ctx context.Context, step string, do func(context.Context) error) error {
	return func(ctx context.Context, step string, do func(context.Context) error) error {
		from := time.Now()
		err := do(ctx)
		slog.DebugContext(ctx, s.name, "step", step, "took", time.Since(from))
		return err
	}
}

// Counter counts passengers.
type Counter struct {
	db    *sql.DB
	timed func(ctx context.Context, step string, do func(context.Context) error) error
}

// New makes a counter.
func New(db *sql.DB) *Counter {
	return &Counter{db: db, timed: (&stopwatch{"counter"}).around()}
}

// Run counts.
func (c *Counter) Run(ctx context.Context, cl *kgo.Client) error {
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for rec := range fetches.RecordsAll() { // want R-KFK-IDEM-X1
			err := c.timed(ctx, "board", func(ctx context.Context) error {
				_, err := c.db.ExecContext(ctx, `INSERT INTO passengers (name) VALUES ($1)`, string(rec.Value))
				return err
			})
			if err != nil {
				return err
			}
		}
	}
}
