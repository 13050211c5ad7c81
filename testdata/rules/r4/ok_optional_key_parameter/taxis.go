// Package taxis charges rides; the helper leaves the header out only where there is no key, and the headers are a map.
package taxis

import (
	"bytes"
	"context"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// RideEnded is the event.
type RideEnded struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e RideEnded) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
	psp    string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onRideEnded)
}

func (s *Service) onRideEnded(ctx context.Context, evt RideEnded) error {
	if err := s.post(ctx, "/v1/charges", evt.EventID, evt.Card); err != nil {
		return err
	}
	return s.send(ctx, "/v1/payouts", evt.Card, map[string]string{"PayPal-Request-Id": "driver-" + evt.EventID, "Accept": "application/json"})
}

func (s *Service) post(ctx context.Context, path, key, body string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *Service) send(ctx context.Context, path, body string, headers map[string]string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
