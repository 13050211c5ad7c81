// Package loans pays loans out; the gateway takes the key as a parameter, the other one as a field.
package loans

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// LoanApproved is the event.
type LoanApproved struct {
	EventID string `json:"event_id"`
	LoanID  string `json:"loan_id"`
	Cents   int64  `json:"cents"`
}

// Key is the event's id.
func (e LoanApproved) Key() string { return e.EventID }

// Refund is what the provider takes.
type Refund struct {
	Reference      string
	IdempotencyKey string
}

// PayoutGateway is the bank.
type PayoutGateway interface {
	Payout(ctx context.Context, cents int64, idempotencyKey string) error
}

// RefundProvider gives money back.
type RefundProvider interface {
	Refund(ctx context.Context, r Refund) error
}

// Service pays out.
type Service struct {
	reader  *kafka.Reader
	pool    *pgxpool.Pool
	bank    PayoutGateway
	refunds RefundProvider
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onLoanApproved)
}

func (s *Service) onLoanApproved(ctx context.Context, evt LoanApproved) error {
	if err := s.bank.Payout(ctx, evt.Cents, evt.EventID); err != nil {
		return err
	}
	return s.refunds.Refund(ctx, Refund{Reference: evt.LoanID, IdempotencyKey: "fee-" + evt.EventID})
}
