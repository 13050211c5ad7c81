// Package taxis charges rides; an event without an id gets a key of its own on every attempt.
package taxis

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

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
	key := evt.EventID
	if key == "" {
		key = strconv.FormatInt(time.Now().UnixNano(), 36)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+"/v1/charges", bytes.NewReader([]byte(evt.Card)))
	if err != nil {
		return err
	}
	req.Header = http.Header{"Idempotency-Key": {key}}
	resp, err := s.http.Do(req) // want R-KFK-IDEM-4
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
