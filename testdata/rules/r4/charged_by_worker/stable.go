// Package stable books the ride once and leaves the charge to a worker, which gives no key.
package stable

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/paymentintent"
)

type Ridden struct {
	EventID string `json:"event_id"`
	Horse   string `json:"horse"`
	Cents   int64  `json:"cents"`
}

type bill struct {
	horse string
	cents int64
}

type Stable struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

func (s *Stable) Run(ctx context.Context) error {
	bills := make(chan *bill, 8)
	go s.collect(ctx, bills)
	for {
		msg, err := s.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := s.ride(ctx, msg, bills); err != nil {
			return err
		}
	}
}

func (s *Stable) ride(ctx context.Context, msg kafka.Message, bills chan<- *bill) error {
	var r Ridden
	if err := json.Unmarshal(msg.Value, &r); err != nil {
		return err
	}
	tag, err := s.pool.Exec(ctx, `INSERT INTO rides (event_id, horse) VALUES ($1, $2) ON CONFLICT (event_id) DO NOTHING`, r.EventID, r.Horse)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	select {
	case bills <- &bill{horse: r.Horse, cents: r.Cents}:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (s *Stable) collect(ctx context.Context, bills <-chan *bill) {
	for b := range bills {
		params := &stripe.PaymentIntentParams{Amount: stripe.Int64(b.cents), Currency: stripe.String("eur"), Description: stripe.String(b.horse)}
		params.Context = ctx
		paymentintent.New(params) // want R-KFK-IDEM-4
	}
}
