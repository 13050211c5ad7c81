// Package depots talks about payments and charges without moving money.
package depots

import (
	"bytes"
	"context"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// PaymentReceived is the event.
type PaymentReceived struct {
	EventID string `json:"event_id"`
	Payment string `json:"payment"`
}

// Key is the event's id.
func (e PaymentReceived) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
	psp    string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onPaymentReceived)
}

func (s *Service) onPaymentReceived(ctx context.Context, evt PaymentReceived) error {
	for _, path := range [...]string{"/v1/payments/" + evt.Payment + "/receipts", "/charging-stations/3/unlock", "/payment-notifications", "/prepayloads"} {
		if err := s.call(ctx, http.MethodPost, path, evt.EventID); err != nil {
			return err
		}
	}
	if err := s.call(ctx, http.MethodPut, "/v1/payments/"+evt.Payment, evt.EventID); err != nil {
		return err
	}
	return s.capturePhoto(ctx, evt)
}

func (s *Service) capturePhoto(ctx context.Context, evt PaymentReceived) error {
	return s.call(ctx, http.MethodPost, "/cameras/1", evt.EventID)
}

func (s *Service) call(ctx context.Context, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, s.psp+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
