// Package loans pays loans out through a gateway whose verb says nothing; the type does. The reference is no key.
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

// Order is what the gateway takes.
type Order struct {
	Reference string
	Cents     int64
	Metadata  map[string]string
}

// PaymentGateway is the bank.
type PaymentGateway interface {
	Process(ctx context.Context, o *Order) error
	Status(ctx context.Context, reference string) (string, error)
}

// Service pays out.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	bank   PaymentGateway
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onLoanApproved)
}

func (s *Service) onLoanApproved(ctx context.Context, evt LoanApproved) error {
	if _, err := s.bank.Status(ctx, evt.LoanID); err != nil {
		return err
	}
	return s.bank.Process(ctx, &Order{Reference: evt.LoanID, Cents: evt.Cents, Metadata: map[string]string{"loan_id": evt.LoanID}}) // want R-KFK-IDEM-4
}
