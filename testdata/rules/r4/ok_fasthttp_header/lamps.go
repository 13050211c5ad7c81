// Package lamps debits a wallet with fasthttp, with a key.
package lamps

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
	"github.com/valyala/fasthttp"

	"example.com/fixtures/r4/inbox"
)

// LampLit is the event.
type LampLit struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e LampLit) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	client *fasthttp.Client
	psp    string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onLampLit)
}

func (s *Service) onLampLit(_ context.Context, evt LampLit) error {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(s.psp + "/v1/debits")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.Set("X-Idempotency-Key", evt.EventID)
	req.SetBodyString(evt.Card)
	return s.client.Do(req, resp)
}
