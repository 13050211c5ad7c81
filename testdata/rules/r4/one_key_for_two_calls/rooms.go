// Package rooms authorises the price of a room and the deposit with one key.
package rooms

import (
	"bytes"
	"context"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// RoomBooked is the event.
type RoomBooked struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e RoomBooked) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
	psp    string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onRoomBooked)
}

func (s *Service) onRoomBooked(ctx context.Context, evt RoomBooked) error {
	if err := s.post(ctx, "/v1/payments", evt.EventID, evt.Card); err != nil {
		return err
	}
	return s.post(ctx, "/v1/captures", evt.EventID, evt.Card) // want R-KFK-IDEM-4
}

func (s *Service) post(ctx context.Context, path, key, card string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+path, bytes.NewReader([]byte(card)))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
