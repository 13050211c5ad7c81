// Package farms pays farmers through a gateway that is wrapped to count.
package farms

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// MilkTaken is the event.
type MilkTaken struct {
	EventID string `json:"event_id"`
	Farmer  string `json:"farmer"`
	Cents   int64  `json:"cents"`
}

// Key is the event's id.
func (e MilkTaken) Key() string { return e.EventID }

// PayoutGateway is the bank.
type PayoutGateway interface {
	Payout(ctx context.Context, farmer string, cents int64) error
}

type counting struct {
	PayoutGateway
	n atomic.Int64
}

func (c *counting) Payout(ctx context.Context, farmer string, cents int64) error {
	c.n.Add(1)
	return c.PayoutGateway.Payout(ctx, farmer, cents) // want R-KFK-IDEM-4
}

// Service pays out.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	bank   PayoutGateway
}

// New makes the service.
func New(r *kafka.Reader, pool *pgxpool.Pool, bank PayoutGateway) *Service {
	return &Service{reader: r, pool: pool, bank: &counting{PayoutGateway: bank}}
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onMilkTaken)
}

func (s *Service) onMilkTaken(ctx context.Context, evt MilkTaken) error {
	return s.bank.Payout(ctx, evt.Farmer, evt.Cents)
}
