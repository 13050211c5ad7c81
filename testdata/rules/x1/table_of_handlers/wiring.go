// Package wiring keeps its handlers in a table of an unnamed struct type.
package wiring

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

type envelope struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

type consumer struct{ cl *kgo.Client }

func (c *consumer) run(ctx context.Context, handle func(context.Context, envelope) error) error {
	for {
		fetches := c.cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for rec := range fetches.RecordsAll() {
			var e envelope
			if err := json.Unmarshal(rec.Value, &e); err != nil {
				continue
			}
			if err := handle(ctx, e); err != nil {
				return err
			}
		}
	}
}

type store struct{ db *sql.DB }

func (s *store) visit(ctx context.Context, body []byte) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO visits (body) VALUES ($1)`, body)
	return err
}

func (s *store) score(ctx context.Context, body []byte) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO scores (key, body) VALUES ('latest', $1) ON CONFLICT (key) DO UPDATE SET body = EXCLUDED.body`, body)
	return err
}

// Run serves all of them.
func Run(ctx context.Context, s *store) error {
	table := []struct {
		topic  string
		handle func(context.Context, envelope) error
	}{
		{"visits", func(ctx context.Context, e envelope) error { return s.visit(ctx, e.Body) }}, // want R-KFK-IDEM-X1
		{"scores", func(ctx context.Context, e envelope) error { return s.score(ctx, e.Body) }},
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range table {
		cl, err := kgo.NewClient(kgo.ConsumerGroup("parks"), kgo.ConsumeTopics(t.topic))
		if err != nil {
			return err
		}
		c := &consumer{cl}
		g.Go(func() error { return c.run(ctx, t.handle) })
	}
	return g.Wait()
}
