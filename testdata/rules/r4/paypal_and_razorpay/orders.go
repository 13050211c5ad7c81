// Package orders captures orders with two providers, each with a call that takes a key and one that does not.
package orders

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/plutov/paypal/v4"
	razorpay "github.com/razorpay/razorpay-go"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// OrderPacked is the event.
type OrderPacked struct {
	EventID string `json:"event_id"`
	Order   string `json:"order"`
	Cents   int    `json:"cents"`
}

// Key is the event's id.
func (e OrderPacked) Key() string { return e.EventID }

// Service captures.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	paypal *paypal.Client
	razor  *razorpay.Client
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onOrderPacked)
}

func (s *Service) onOrderPacked(ctx context.Context, evt OrderPacked) error {
	if _, err := s.paypal.GetOrder(ctx, evt.Order); err != nil {
		return err
	}
	if _, err := s.paypal.CaptureOrderWithPaypalRequestId(ctx, evt.Order, paypal.CaptureOrderRequest{}, evt.EventID, nil); err != nil {
		return err
	}
	if _, err := s.paypal.RefundCapture(ctx, evt.Order, paypal.RefundCaptureRequest{}); err != nil { // want R-KFK-IDEM-4
		return err
	}
	if _, err := s.razor.Payment.Fetch(evt.Order, nil, nil); err != nil {
		return err
	}
	if _, err := s.razor.Payment.Refund(evt.Order, evt.Cents, nil, map[string]string{"X-Refund-Idempotency": "refund-" + evt.EventID}); err != nil {
		return err
	}
	_, err := s.razor.Payment.Capture(evt.Order, evt.Cents, nil, nil) // want R-KFK-IDEM-4
	return err
}
