// Package seats charges seats through a generated client.
package seats

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/generated_client_no_editor/api"
	"example.com/fixtures/r4/inbox"
)

// SeatTaken is the event.
type SeatTaken struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
	Cents   int64  `json:"cents"`
}

// Key is the event's id.
func (e SeatTaken) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	api    *api.Client
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onSeatTaken)
}

func (s *Service) onSeatTaken(ctx context.Context, evt SeatTaken) error {
	resp, err := s.api.CreatePayment(ctx, api.CreatePaymentBody{Card: evt.Card, Cents: evt.Cents}) // want R-KFK-IDEM-4
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
