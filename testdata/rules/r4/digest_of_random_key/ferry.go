// Package ferry charges tickets under a key that is a digest, of the event's id or of nothing but chance.
package ferry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// TicketSold is the event.
type TicketSold struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e TicketSold) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	http   *http.Client
	psp    string
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onTicketSold)
}

func (s *Service) onTicketSold(ctx context.Context, evt TicketSold) error {
	if err := s.charge(ctx, "/v1/charges", evt.Card, digest(evt.EventID)); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+"/v1/refunds", bytes.NewReader([]byte(evt.Card)))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", uuid.NewSHA1(uuid.NameSpaceOID, []byte(uuid.NewString())).String())
	resp, err := s.http.Do(req) // want R-KFK-IDEM-4
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *Service) charge(ctx context.Context, path, card, key string) error {
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

func digest(s string) string {
	h := sha256.New()
	io.WriteString(h, s)
	return hex.EncodeToString(h.Sum(nil))
}
