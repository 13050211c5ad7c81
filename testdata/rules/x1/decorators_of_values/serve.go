// Package decorators wraps handlers as net/http does, in loops, by options and under conditions.
package decorators

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

	"github.com/segmentio/kafka-go"
)

// Handler takes messages.
type Handler interface {
	Serve(ctx context.Context, msg kafka.Message) error
}

// Func is a function as a Handler.
type Func func(ctx context.Context, msg kafka.Message) error

// Serve calls f.
func (f Func) Serve(ctx context.Context, msg kafka.Message) error { return f(ctx, msg) }

type txKey struct{}

func once(db *sql.DB, next Handler) Handler {
	return Func(func(ctx context.Context, msg kafka.Message) error {
		var e struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(msg.Value, &e); err != nil {
			return err
		}
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		res, err := tx.ExecContext(ctx, `INSERT INTO processed_rides (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, e.ID)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		if err := next.Serve(context.WithValue(ctx, txKey{}, tx), msg); err != nil {
			return err
		}
		return tx.Commit()
	})
}

func logged(next Handler) Handler {
	return Func(func(ctx context.Context, msg kafka.Message) error {
		err := next.Serve(ctx, msg)
		slog.InfoContext(ctx, "served", "offset", msg.Offset, "err", err)
		return err
	})
}

type counted struct {
	next Handler
	n    int
}

func (c *counted) Serve(ctx context.Context, msg kafka.Message) error {
	c.n++
	return c.next.Serve(ctx, msg)
}

type decorator func(Handler) Handler

func all(h Handler, ds ...decorator) Handler {
	for _, d := range ds {
		h = d(h)
	}
	return h
}

type subscriber struct {
	reader *kafka.Reader
	h      Handler
}

type option func(*subscriber)

func with(d decorator) option { return func(s *subscriber) { s.h = d(s.h) } }

func subscribe(r *kafka.Reader, h Handler, opts ...option) *subscriber {
	s := &subscriber{reader: r, h: h}
	for _, o := range opts {
		o(s)
	}
	return s
}

func (s *subscriber) run(ctx context.Context) error {
	for {
		msg, err := s.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := s.h.Serve(ctx, msg); err != nil {
			return err
		}
		if err := s.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func started(ctx context.Context, msg kafka.Message) error {
	_, err := ctx.Value(txKey{}).(*sql.Tx).ExecContext(ctx, `INSERT INTO rides (body) VALUES ($1)`, msg.Value)
	return err
}

type ended struct{}

func (ended) Serve(ctx context.Context, msg kafka.Message) error {
	_, err := ctx.Value(txKey{}).(*sql.Tx).ExecContext(ctx, `INSERT INTO endings (body) VALUES ($1)`, msg.Value)
	return err
}

type fined struct{}

func (fined) Serve(ctx context.Context, msg kafka.Message) error {
	_, err := ctx.Value(txKey{}).(*sql.Tx).ExecContext(ctx, `INSERT INTO fines (body) VALUES ($1)`, msg.Value)
	return err
}

type rated struct{ db *sql.DB }

func (r rated) Serve(ctx context.Context, msg kafka.Message) error { // want R-KFK-IDEM-X1
	_, err := r.db.ExecContext(ctx, `INSERT INTO ratings (body) VALUES ($1)`, msg.Value)
	return err
}

// Rides serves the start of rides.
func Rides(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	return subscribe(r, logged(once(db, Func(started)))).run(ctx)
}

// Endings serves their end.
func Endings(ctx context.Context, r *kafka.Reader, db *sql.DB, verbose bool) error {
	h := once(db, ended{})
	if verbose {
		h = &counted{next: h}
	}
	return subscribe(r, h).run(ctx)
}

// Fines serves fines.
func Fines(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	guard := func(next Handler) Handler { return once(db, next) }
	return subscribe(r, fined{}, with(guard), with(logged)).run(ctx)
}

// Ratings serves ratings.
func Ratings(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	return subscribe(r, all(rated{db}, logged, func(next Handler) Handler { return &counted{next: next} })).run(ctx)
}
