// Package rooms authorises the price of a room and the deposit with two keys, and tells the wallet with the first.
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
	wallet string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onRoomBooked)
}

func (s *Service) onRoomBooked(ctx context.Context, evt RoomBooked) error {
	if err := s.post(ctx, s.psp+"/v1/payments", evt.EventID+":room", evt.Card); err != nil {
		return err
	}
	if err := s.post(ctx, s.psp+"/v1/payments", evt.EventID+":deposit", evt.Card); err != nil {
		return err
	}
	return s.post(ctx, s.wallet+"/v1/debits", evt.EventID+":room", evt.Card)
}

func (s *Service) post(ctx context.Context, url, key, card string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(card)))
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
