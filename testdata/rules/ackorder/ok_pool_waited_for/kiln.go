// Package kiln works in pools, and waits for them before it acknowledges.
package kiln

import (
	"context"
	"database/sql"

	"github.com/segmentio/kafka-go"
	"github.com/sourcegraph/conc"
	"github.com/sourcegraph/conc/pool"
)

type Kiln struct {
	r  *kafka.Reader
	db *sql.DB
}

func (k *Kiln) fire(ctx context.Context, m kafka.Message) error {
	_, err := k.db.ExecContext(ctx, `INSERT INTO firings (key, body) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`, m.Key, m.Value)
	return err
}

func (k *Kiln) Run(ctx context.Context) error {
	for {
		m, err := k.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		p := pool.New().WithErrors()
		p.Go(func() error { return k.fire(ctx, m) })
		if err := p.Wait(); err != nil {
			return err
		}
		if err := k.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (k *Kiln) Group(ctx context.Context) error {
	for {
		m, err := k.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var failed error
		var wg conc.WaitGroup
		wg.Go(func() { failed = k.fire(ctx, m) })
		wg.Wait()
		if failed != nil {
			return failed
		}
		if err := k.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}
