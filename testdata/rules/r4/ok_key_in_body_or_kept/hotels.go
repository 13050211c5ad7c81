// Package hotels charges nights: once with the key in the body, once with a key that was stored before.
package hotels

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// NightOver is the event.
type NightOver struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e NightOver) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
	psp    string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onNightOver)
}

func (s *Service) onNightOver(ctx context.Context, evt NightOver) error {
	body, err := json.Marshal(map[string]any{"card": evt.Card, "idempotency_key": evt.EventID})
	if err != nil {
		return err
	}
	if err := s.post(ctx, "/v2/payments", body, ""); err != nil {
		return err
	}
	var key string
	if err := s.pool.QueryRow(ctx, `SELECT payment_key FROM stays WHERE card = $1`, evt.Card).Scan(&key); err != nil {
		return err
	}
	return s.post(ctx, "/v1/charges", []byte(evt.Card), key)
}

func (s *Service) post(ctx context.Context, path string, body []byte, key string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+path, bytes.NewReader(body))
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
