// Command main composes its middleware by recursion over what is left of it.
package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Handler func(ctx context.Context, tx pgx.Tx, m kafka.Message) error

type Middleware func(next Handler) Handler

func compose(ms ...Middleware) Middleware {
	return func(next Handler) Handler {
		if len(ms) == 0 {
			return next
		}
		return ms[0](compose(ms[1:]...)(next))
	}
}

func timed(next Handler) Handler {
	return func(ctx context.Context, tx pgx.Tx, m kafka.Message) error {
		start := time.Now()
		defer func() { slog.Info("handled", "topic", m.Topic, "took", time.Since(start)) }()
		return next(ctx, tx, m)
	}
}

func recovered(next Handler) Handler {
	return func(ctx context.Context, tx pgx.Tx, m kafka.Message) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = &panicErr{r}
			}
		}()
		return next(ctx, tx, m)
	}
}

type panicErr struct{ v any }

func (p *panicErr) Error() string { return "panicked" }

func once(next Handler) Handler {
	return func(ctx context.Context, tx pgx.Tx, m kafka.Message) error {
		var head struct {
			EventID string `json:"event_id"`
		}
		if err := json.Unmarshal(m.Value, &head); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, head.EventID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		return next(ctx, tx, m)
	}
}

type loan struct {
	EventID string `json:"event_id"`
	Member  string `json:"member"`
}

func borrowed(ctx context.Context, tx pgx.Tx, m kafka.Message) error {
	var l loan
	if err := json.Unmarshal(m.Value, &l); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `UPDATE members SET on_loan = on_loan + 1 WHERE id = $1`, l.Member)
	return err
}

type desk struct {
	pool *pgxpool.Pool
	r    *kafka.Reader
	h    Handler
}

func (d *desk) run(ctx context.Context) error {
	for {
		m, err := d.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		err = pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error { return d.h(ctx, tx, m) })
		if err != nil {
			return err
		}
		if err := d.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DSN"))
	if err != nil {
		os.Exit(1)
	}
	r := kafka.NewReader(kafka.ReaderConfig{GroupID: "desk", Topic: "loans"})
	d := &desk{pool: pool, r: r, h: compose(recovered, timed, once)(borrowed)}
	if err := d.run(ctx); err != nil {
		os.Exit(1)
	}
}
