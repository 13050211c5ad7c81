// Package vaults withdraws through gateways by name; their implementation is in sight, and only the gateway says money.
package vaults

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/gateway_implementation_is_remote/bank"
	"example.com/fixtures/r4/inbox"
)

// WithdrawalAsked is the event.
type WithdrawalAsked struct {
	EventID string `json:"event_id"`
	Bank    string `json:"bank"`
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

// Key is the event's id.
func (e WithdrawalAsked) Key() string { return e.EventID }

// PaymentGateway is a bank.
type PaymentGateway interface {
	Withdraw(ctx context.Context, account string, cents int64) error
}

// Service withdraws.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	banks  map[string]PaymentGateway
}

// New makes the service.
func New(r *kafka.Reader, pool *pgxpool.Pool, url string) *Service {
	banks := map[string]PaymentGateway{"north": &bank.Bank{URL: url, Path: "/a"}, "south": &bank.Bank{URL: url, Path: "/b"}}
	return &Service{reader: r, pool: pool, banks: banks}
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onWithdrawalAsked)
}

func (s *Service) onWithdrawalAsked(ctx context.Context, evt WithdrawalAsked) error {
	gw, ok := s.banks[evt.Bank]
	if !ok {
		return errors.New("no such bank")
	}
	return gw.Withdraw(ctx, evt.Account, evt.Cents) // want R-KFK-IDEM-4
}
