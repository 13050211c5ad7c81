// Package vans charges rentals; one client is a package variable, the other is handed over by an option, and both have a transport that sets the key.
package vans

import (
	"bytes"
	"context"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// VanReturned is the event.
type VanReturned struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e VanReturned) Key() string { return e.EventID }

type keyOf struct{}

type keyed struct{ next http.RoundTripper }

func (k keyed) RoundTrip(req *http.Request) (*http.Response, error) {
	out := req.Clone(req.Context())
	if key, ok := req.Context().Value(keyOf{}).(string); ok && req.Method == http.MethodPost {
		out.Header.Set("Idempotency-Key", key)
	}
	return k.next.RoundTrip(out)
}

var shared = &http.Client{Transport: keyed{http.DefaultTransport}}

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
	psp    string
}

// Option changes a service.
type Option func(*Service)

// WithClient sets the client.
func WithClient(hc *http.Client) Option { return func(s *Service) { s.http = hc } }

// New makes a service.
func New(r *kafka.Reader, pool *pgxpool.Pool, opts ...Option) *Service {
	s := &Service{reader: r, pool: pool}
	for _, o := range opts {
		o(s)
	}
	return s
}

// Default makes the service of this company.
func Default(r *kafka.Reader, pool *pgxpool.Pool) *Service {
	return New(r, pool, WithClient(&http.Client{Transport: keyed{http.DefaultTransport}}))
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onVanReturned)
}

func (s *Service) onVanReturned(ctx context.Context, evt VanReturned) error {
	if err := s.charge(context.WithValue(ctx, keyOf{}, evt.EventID+"/rent"), s.http, evt.Card); err != nil {
		return err
	}
	return s.charge(context.WithValue(ctx, keyOf{}, evt.EventID+"/fuel"), shared, evt.Card)
}

func (s *Service) charge(ctx context.Context, hc *http.Client, card string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+"/v1/charges", bytes.NewReader([]byte(card)))
	if err != nil {
		return err
	}
	resp, err := hc.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
