// Command main gives its subscriber an inbox as an option; without one it would do without.
package main

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Event struct {
	ID   string `json:"id"`
	Copy int64  `json:"copy"`
}

type Handler func(context.Context, Event) error

type Inbox struct{ db *sql.DB }

func (i *Inbox) Once(ctx context.Context, id string, fn func(*sql.Tx) error) error {
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

type options struct{ dedup *Inbox }

type Option func(*options)

func WithInbox(d *Inbox) Option { return func(o *options) { o.dedup = d } }

type txKey struct{}

type Sub struct {
	cl *kgo.Client
	h  Handler
	d  *Inbox
}

func New(cl *kgo.Client, h Handler, opts ...Option) *Sub {
	var o options
	for _, f := range opts {
		f(&o)
	}
	return &Sub{cl, h, o.dedup}
}

func (s *Sub) Run(ctx context.Context) error {
	for {
		for _, rec := range s.cl.PollFetches(ctx).Records() {
			var e Event
			if err := json.Unmarshal(rec.Value, &e); err != nil {
				continue
			}
			if err := s.dispatch(ctx, e); err != nil {
				return err
			}
		}
	}
}

func (s *Sub) dispatch(ctx context.Context, e Event) error {
	if s.d == nil {
		return s.h(ctx, e)
	}
	return s.d.Once(ctx, e.ID, func(tx *sql.Tx) error {
		return s.h(context.WithValue(ctx, txKey{}, tx), e)
	})
}

func lend(ctx context.Context, e Event) error {
	_, err := ctx.Value(txKey{}).(*sql.Tx).ExecContext(ctx, `INSERT INTO loans (copy_id) VALUES ($1)`, e.Copy)
	return err
}

func main() {
	var db *sql.DB
	cl, _ := kgo.NewClient(kgo.ConsumerGroup("x"))
	New(cl, lend, WithInbox(&Inbox{db})).Run(context.Background())
}
