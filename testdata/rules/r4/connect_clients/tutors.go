// Package tutors pays tutors with a key, and their assistants without.
package tutors

import (
	"context"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/connect_clients/payv1connect"
	"example.com/fixtures/r4/inbox"
)

// LessonOver is the event.
type LessonOver struct {
	EventID string `json:"event_id"`
	Tutor   string `json:"tutor"`
	Helper  string `json:"helper"`
}

// Key is the event's id.
func (e LessonOver) Key() string { return e.EventID }

// Service pays.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	pay    payv1connect.PayoutServiceClient
}

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onLessonOver)
}

func (s *Service) onLessonOver(ctx context.Context, evt LessonOver) error {
	req := connect.NewRequest(&payv1connect.PayoutRequest{Account: evt.Tutor})
	req.Header().Set("Idempotency-Key", evt.EventID)
	if _, err := s.pay.Payout(ctx, req); err != nil {
		return err
	}
	_, err := s.pay.Payout(ctx, connect.NewRequest(&payv1connect.PayoutRequest{Account: evt.Helper})) // want R-KFK-IDEM-4
	return err
}
