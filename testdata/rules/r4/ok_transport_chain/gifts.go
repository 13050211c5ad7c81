// Package gifts redeems gift cards; the client is made in another package, and a chain of transports sets the key.
package gifts

import (
	"bytes"
	"context"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
	"example.com/fixtures/r4/ok_transport_chain/psp"
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

// New makes the service.
func New(r *kafka.Reader, pool *pgxpool.Pool, base string) *Service {
	hc := psp.NewHTTP()
	return &Service{reader: r, pool: pool, psp: base, http: hc}
}

func (s *Service) onGiftRedeemed(ctx context.Context, evt GiftRedeemed) error {
	ctx = psp.WithKey(ctx, evt.EventID)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+"/v1/debits", bytes.NewReader([]byte(evt.Card)))
	if err != nil {
		return err
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
