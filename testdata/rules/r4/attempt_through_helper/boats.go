// Package boats charges moorings; the helper tells the function which attempt it is.
package boats

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// BoatMoored is the event.
type BoatMoored struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e BoatMoored) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
	psp    string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onBoatMoored)
}

func (s *Service) onBoatMoored(ctx context.Context, evt BoatMoored) error {
	return again(4, func(n int) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+"/v1/charges", bytes.NewReader([]byte(evt.Card)))
		if err != nil {
			return err
		}
		req.Header.Set("Idempotency-Key", fmt.Sprint(evt.EventID, "/", n))
		resp, err := s.http.Do(req) // want R-KFK-IDEM-4
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
}

func again(most int, fn func(n int) error) error {
	var err error
	for i := 0; i < most; i++ {
		if err = fn(i); err == nil {
			return nil
		}
	}
	return err
}
