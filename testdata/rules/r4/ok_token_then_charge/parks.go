// Package parks fetches a token, makes a customer and charges the card with a key of the order, which the event carries.
package parks

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// TicketSold is the event.
type TicketSold struct {
	EventID string `json:"event_id"`
	Order   string `json:"order"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e TicketSold) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
}

const provider = "https://api.mollie.com"

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onTicketSold)
}

func (s *Service) onTicketSold(ctx context.Context, evt TicketSold) error {
	resp, err := s.http.PostForm(provider+"/oauth2/token", url.Values{"grant_type": {"client_credentials"}})
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	if err := s.post(ctx, "/v2/customers", evt.Card, nil); err != nil {
		return err
	}
	return s.post(ctx, "/v2/payments", evt.Card, http.Header{"Idempotency-Key": []string{"ticket-" + evt.Order}})
}

func (s *Service) post(ctx context.Context, path, body string, extra http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, provider+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain")
	for name, values := range extra {
		req.Header[name] = values
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
