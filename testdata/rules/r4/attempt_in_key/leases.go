// Package leases charges the rent; every attempt has a number of its own in the key.
package leases

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// RentDue is the event.
type RentDue struct {
	EventID string `json:"event_id"`
	Lease   string `json:"lease"`
}

// Key is the event's id.
func (e RentDue) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
	psp    string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onRentDue)
}

func (s *Service) onRentDue(ctx context.Context, evt RentDue) error {
	for attempt := 1; attempt <= 3; attempt++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+"/v1/charges", bytes.NewReader([]byte(evt.Lease)))
		if err != nil {
			return err
		}
		req.Header.Set("Idempotency-Key", fmt.Sprintf("%s-%d", evt.EventID, attempt))
		resp, err := s.http.Do(req) // want R-KFK-IDEM-4
		if err == nil {
			return resp.Body.Close()
		}
	}
	return errors.New("no answer from the provider")
}
