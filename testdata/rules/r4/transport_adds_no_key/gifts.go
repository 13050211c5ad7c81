// Package gifts redeems gift cards; the transport that the module puts into the client only counts.
package gifts

import (
	"bytes"
	"context"
	"net/http"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// GiftRedeemed is the event.
type GiftRedeemed struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e GiftRedeemed) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
	psp    string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onGiftRedeemed)
}

type counting struct {
	next http.RoundTripper
	n    atomic.Int64
}

// RoundTrip counts a request.
func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.next.RoundTrip(req)
}

// New makes the service.
func New(r *kafka.Reader, pool *pgxpool.Pool, psp string) *Service {
	return &Service{reader: r, pool: pool, psp: psp, http: &http.Client{Transport: &counting{next: http.DefaultTransport}}}
}

func (s *Service) onGiftRedeemed(ctx context.Context, evt GiftRedeemed) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+"/v1/debits", bytes.NewReader([]byte(evt.Card)))
	if err != nil {
		return err
	}
	resp, err := s.http.Do(req) // want R-KFK-IDEM-4
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
