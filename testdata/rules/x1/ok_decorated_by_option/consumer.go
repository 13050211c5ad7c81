// Package decorated wraps its handler when an option asks for it, and every caller asks.
package decorated

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/segmentio/kafka-go"
)

type shipment struct {
	ID     string `json:"id"`
	Parcel int64  `json:"parcel"`
}

type inbox struct{ db *sql.DB }

func (i *inbox) first(ctx context.Context, id string, do func(*sql.Tx) error) error {
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_shipments (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

type handler func(context.Context, *sql.Tx, shipment) error

type settings struct {
	inbox *inbox
	size  int
}

type option func(*settings)

func withInbox(i *inbox) option { return func(s *settings) { s.inbox = i } }

func withSize(n int) option { return func(s *settings) { s.size = n } }

type subscriber struct {
	reader *kafka.Reader
	handle handler
}

func newSubscriber(r *kafka.Reader, h handler, opts ...option) *subscriber {
	set := settings{size: 1}
	for _, o := range opts {
		o(&set)
	}
	if set.inbox != nil {
		bare := h
		h = func(ctx context.Context, _ *sql.Tx, s shipment) error {
			return set.inbox.first(ctx, s.ID, func(tx *sql.Tx) error { return bare(ctx, tx, s) })
		}
	}
	return &subscriber{reader: r, handle: h}
}

func (s *subscriber) run(ctx context.Context) error {
	for {
		msg, err := s.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var e shipment
		if err := json.Unmarshal(msg.Value, &e); err != nil {
			return err
		}
		if err := s.handle(ctx, nil, e); err != nil {
			return err
		}
		if err := s.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func dispatchParcel(ctx context.Context, tx *sql.Tx, s shipment) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO dispatches (parcel) VALUES ($1)`, s.Parcel)
	return err
}

// Serve runs a subscriber.
func Serve(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	return newSubscriber(r, dispatchParcel, withSize(10), withInbox(&inbox{db})).run(ctx)
}
