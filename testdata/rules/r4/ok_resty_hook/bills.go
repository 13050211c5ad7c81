// Package bills charges bills; a hook of the client sets the key.
package bills

import (
	"context"
	"time"

	"github.com/go-resty/resty/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// BillDue is the event.
type BillDue struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e BillDue) Key() string { return e.EventID }

type keyOf struct{}

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	rest   *resty.Client
}

// New makes the service.
func New(r *kafka.Reader, pool *pgxpool.Pool, base string) *Service {
	rest := resty.New().SetBaseURL(base).SetTimeout(time.Second)
	rest.OnBeforeRequest(func(_ *resty.Client, r *resty.Request) error {
		if key, ok := r.Context().Value(keyOf{}).(string); ok {
			r.SetHeader("Idempotency-Key", key)
		}
		return nil
	})
	return &Service{reader: r, pool: pool, rest: rest}
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onBillDue)
}

func (s *Service) onBillDue(ctx context.Context, evt BillDue) error {
	_, err := s.rest.R().SetContext(context.WithValue(ctx, keyOf{}, evt.EventID)).SetBody(evt.Card).Post("/v1/charges")
	return err
}
