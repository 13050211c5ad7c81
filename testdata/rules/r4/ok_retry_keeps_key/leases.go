// Package leases charges the rent; every attempt has the same key, instalments have their own.
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
	Parts   []int  `json:"parts"`
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
	for i, cents := range evt.Parts {
		if err := s.charge(ctx, fmt.Sprintf("%s-%d", evt.EventID, i), evt.Lease, cents); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) charge(ctx context.Context, key, lease string, cents int) error {
	for range 3 {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+"/v1/charges", bytes.NewReader(fmt.Appendf(nil, "%s %d", lease, cents)))
		if err != nil {
			return err
		}
		req.Header.Set("Idempotency-Key", key)
		resp, err := s.http.Do(req)
		if err == nil {
			return resp.Body.Close()
		}
	}
	return errors.New("no answer from the provider")
}
