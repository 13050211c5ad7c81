// Package gyms captures what was authorised, with the key that the library makes.
package gyms

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/paymentintent"

	"example.com/fixtures/r4/inbox"
)

// ClassOver is the event.
type ClassOver struct {
	EventID string `json:"event_id"`
	Intent  string `json:"intent"`
}

// Key is the event's id.
func (e ClassOver) Key() string { return e.EventID }

// Service captures.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onClassOver)
}

func (s *Service) onClassOver(ctx context.Context, evt ClassOver) error {
	params := &stripe.PaymentIntentCaptureParams{}
	params.Context = ctx
	params.AddMetadata("event_id", evt.EventID)
	params.SetIdempotencyKey(stripe.NewIdempotencyKey())
	_, err := paymentintent.Capture(evt.Intent, params) // want R-KFK-IDEM-4
	return err
}
