// Package seats charges seats through a generated client; an editor sets the header.
package seats

import (
	"context"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
	"example.com/fixtures/r4/ok_generated_client_editor/api"
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

func withKey(key string) api.RequestEditorFn {
	return func(_ context.Context, req *http.Request) error {
		req.Header.Set("Idempotency-Key", key)
		return nil
	}
}

func (s *Service) onSeatTaken(ctx context.Context, evt SeatTaken) error {
	resp, err := s.api.CreatePayment(ctx, api.CreatePaymentBody{Card: evt.Card, Cents: evt.Cents}, withKey(evt.EventID))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
