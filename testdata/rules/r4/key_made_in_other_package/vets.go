// Package vets charges visits: the client makes a new key for every call, and does two things with one key.
package vets

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
	"example.com/fixtures/r4/key_made_in_other_package/psp"
)

// VisitOver is the event.
type VisitOver struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
}

// Key is the event's id.
func (e VisitOver) Key() string { return e.EventID }

// Service charges.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	psp    *psp.Client
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onVisitOver)
}

func (s *Service) onVisitOver(ctx context.Context, evt VisitOver) error {
	if err := s.psp.Charge(ctx, evt.Card); err != nil { // want R-KFK-IDEM-4
		return err
	}
	return s.psp.AuthorizeAndCapture(ctx, evt.EventID, evt.Card) // want R-KFK-IDEM-4
}
