// Package loans pays loans out through a gateway that stays in the process.
package loans

import (
	"context"
	"errors"
	"math/rand"

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

// PayoutGateway is the bank.
type PayoutGateway interface {
	Payout(ctx context.Context, loan string, cents int64) error
}

type simulator struct{}

func (simulator) Payout(_ context.Context, _ string, cents int64) error {
	if rand.Intn(100) < 5 || cents == 0 {
		return errors.New("declined")
	}
	return nil
}

// Service pays out.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	bank   PayoutGateway
}

// New makes the service.
func New(r *kafka.Reader, pool *pgxpool.Pool) *Service {
	return &Service{reader: r, pool: pool, bank: simulator{}}
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onLoanApproved)
}

func (s *Service) onLoanApproved(ctx context.Context, evt LoanApproved) error {
	return s.bank.Payout(ctx, evt.LoanID, evt.Cents)
}
