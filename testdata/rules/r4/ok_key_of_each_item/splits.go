// Package splits pays the shares of a sale out, each with a key of its own; a new customer is no payment.
package splits

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/client"

	"example.com/fixtures/r4/inbox"
)

// SaleClosed is the event.
type SaleClosed struct {
	EventID string  `json:"event_id"`
	Shares  []Share `json:"shares"`
}

// Key is the event's id.
func (e SaleClosed) Key() string { return e.EventID }

// Share is one seller's part.
type Share struct {
	ID      string `json:"id"`
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

// Service pays out.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	stripe *client.API
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onSaleClosed)
}

func (s *Service) onSaleClosed(ctx context.Context, evt SaleClosed) error {
	if _, err := s.stripe.Customers.New(&stripe.CustomerParams{Name: stripe.String("buyer")}); err != nil {
		return err
	}
	for _, share := range evt.Shares {
		params := &stripe.TransferParams{Amount: stripe.Int64(share.Cents), Destination: stripe.String(share.Account)}
		params.Context = ctx
		params.IdempotencyKey = stripe.String(share.ID)
		if _, err := s.stripe.Transfers.New(params); err != nil {
			return err
		}
	}
	return nil
}
