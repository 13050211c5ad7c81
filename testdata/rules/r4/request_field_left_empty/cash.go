// Package cash withdraws what a machine paid out; only large sums get a key.
package cash

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
	"google.golang.org/grpc"

	"example.com/fixtures/r4/inbox"
	"example.com/fixtures/r4/request_field_left_empty/ledgerpb"
)

// CashTaken is the event.
type CashTaken struct {
	EventID string `json:"event_id"`
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

// Key is the event's id.
func (e CashTaken) Key() string { return e.EventID }

// Service withdraws.
type Service struct {
	reader   *kafka.Reader
	pool     *pgxpool.Pool
	accounts ledgerpb.AccountServiceClient
}

// New dials the bank.
func New(r *kafka.Reader, pool *pgxpool.Pool, addr string) (*Service, error) {
	conn, err := grpc.NewClient(addr)
	if err != nil {
		return nil, err
	}
	return &Service{reader: r, pool: pool, accounts: ledgerpb.NewAccountServiceClient(conn)}, nil
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onCashTaken)
}

func (s *Service) onCashTaken(ctx context.Context, evt CashTaken) error {
	req := &ledgerpb.WithdrawRequest{Account: evt.Account, Cents: evt.Cents}
	if evt.Cents > 10_000 {
		req.IdempotencyKey = evt.EventID
	}
	_, err := s.accounts.Withdraw(ctx, req) // want R-KFK-IDEM-4
	return err
}
