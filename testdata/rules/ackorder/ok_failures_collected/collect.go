// Package collect counts and collects what failed, or waits for an answer beside a deadline; nothing is committed then.
package collect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/multierr"
)

// Pages keeps pages.
type Pages struct{ db *sql.DB }

func (p *Pages) keep(ctx context.Context, key, body []byte) error {
	_, err := p.db.ExecContext(ctx, `INSERT INTO pages (key, body) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET body = EXCLUDED.body`, key, body)
	return err
}

// Counted counts failures.
func (p *Pages) Counted(ctx context.Context, cl *kgo.Client) error {
	for {
		recs := cl.PollFetches(ctx).Records()
		failures := 0
		for _, r := range recs {
			if err := p.keep(ctx, r.Key, r.Value); err != nil {
				failures++
			}
		}
		if failures > 0 {
			return fmt.Errorf("%d failures", failures)
		}
		if err := cl.CommitRecords(ctx, recs...); err != nil {
			return err
		}
	}
}

// Combined combines errors.
func (p *Pages) Combined(ctx context.Context, cl *kgo.Client) error {
	for {
		recs := cl.PollFetches(ctx).Records()
		var all error
		for _, r := range recs {
			all = multierr.Append(all, p.keep(ctx, r.Key, r.Value))
		}
		if all != nil {
			return all
		}
		if err := cl.CommitRecords(ctx, recs...); err != nil {
			return err
		}
	}
}

// Deadline waits for the answer, though not for ever.
func (p *Pages) Deadline(ctx context.Context, r *kafka.Reader) error {
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		done := make(chan error, 1)
		go func() { done <- p.keep(ctx, msg.Key, msg.Value) }()
		select {
		case err := <-done:
			if err != nil {
				return err
			}
		case <-time.After(time.Minute):
			return errors.New("it takes too long")
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

// bounded runs a function for so long and no longer.
func bounded(ctx context.Context, d time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Bounded works in bounds.
func (p *Pages) Bounded(ctx context.Context, r *kafka.Reader) error {
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := bounded(ctx, time.Second, func(ctx context.Context) error { return p.keep(ctx, msg.Key, msg.Value) }); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
