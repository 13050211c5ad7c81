// Package cash withdraws what a machine paid out; the interceptor makes a key for every call.
package cash

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"example.com/fixtures/r4/inbox"
	"example.com/fixtures/r4/interceptor_makes_fresh_key/ledgerpb"
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
	conn, err := grpc.NewClient(addr, grpc.WithUnaryInterceptor(withKey))
	if err != nil {
		return nil, err
	}
	return &Service{reader: r, pool: pool, accounts: ledgerpb.NewAccountServiceClient(conn)}, nil
}

func withKey(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx = metadata.AppendToOutgoingContext(ctx, "idempotency-key", uuid.NewString())
	return invoker(ctx, method, req, reply, cc, opts...)
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onCashTaken)
}

func (s *Service) onCashTaken(ctx context.Context, evt CashTaken) error {
	_, err := s.accounts.Withdraw(ctx, &ledgerpb.WithdrawRequest{Account: evt.Account, Cents: evt.Cents}) // want R-KFK-IDEM-4
	return err
}
