// Package cash withdraws what a machine paid out; the interceptor takes the key from the context.
package cash

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"example.com/fixtures/r4/inbox"
	"example.com/fixtures/r4/ok_interceptor_sets_key/ledgerpb"
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
	conn, err := grpc.NewClient(addr, grpc.WithChainUnaryInterceptor(timed, withKey))
	if err != nil {
		return nil, err
	}
	return &Service{reader: r, pool: pool, accounts: ledgerpb.NewAccountServiceClient(conn)}, nil
}

type keyOf struct{}

func timed(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return invoker(ctx, method, req, reply, cc, opts...)
}

func withKey(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if key, ok := ctx.Value(keyOf{}).(string); ok {
		ctx = metadata.NewOutgoingContext(ctx, metadata.Pairs("x-idempotency-key", key))
	}
	return invoker(ctx, method, req, reply, cc, opts...)
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onCashTaken)
}

func (s *Service) onCashTaken(ctx context.Context, evt CashTaken) error {
	ctx = context.WithValue(ctx, keyOf{}, evt.EventID)
	_, err := s.accounts.Withdraw(ctx, &ledgerpb.WithdrawRequest{Account: evt.Account, Cents: evt.Cents})
	return err
}
