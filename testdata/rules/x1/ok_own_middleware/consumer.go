// Package meters books meter readings: handlers are plain functions, wrapped by a chain of our own.
package meters

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/segmentio/kafka-go"
)

type HandlerFunc func(ctx context.Context, m kafka.Message) error

type Middleware func(HandlerFunc) HandlerFunc

func Chain(h HandlerFunc, mws ...Middleware) HandlerFunc {
	for i := len(mws) - 1; i >= 0; i-- {
		h = mws[i](h)
	}
	return h
}

func Logged(next HandlerFunc) HandlerFunc {
	return func(ctx context.Context, m kafka.Message) error {
		slog.Info("message", "topic", m.Topic)
		return next(ctx, m)
	}
}

func Once(db *sql.DB) Middleware {
	return func(next HandlerFunc) HandlerFunc {
		return func(ctx context.Context, m kafka.Message) error {
			var head struct {
				EventID string `json:"event_id"`
			}
			if err := json.Unmarshal(m.Value, &head); err != nil {
				return err
			}
			var seen bool
			if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM processed_event WHERE event_id = $1)`, head.EventID).Scan(&seen); err != nil {
				return err
			}
			if seen {
				return nil
			}
			return next(ctx, m)
		}
	}
}

type Service struct{ db *sql.DB }

func (s *Service) book(ctx context.Context, m kafka.Message) error {
	var r struct {
		Meter int64 `json:"meter"`
		KWh   int64 `json:"kwh"`
	}
	if err := json.Unmarshal(m.Value, &r); err != nil {
		return err
	}
	_, err := s.db.ExecContext(ctx, `UPDATE meters SET kwh = kwh + $2 WHERE id = $1`, r.Meter, r.KWh)
	return err
}

func (s *Service) Run(ctx context.Context, r *kafka.Reader) error {
	h := Chain(s.book, Logged, Once(s.db))
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := h(ctx, m); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (s *Service) Purge(ctx context.Context, before time.Time) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM processed_event WHERE processed_at < $1`, before)
	return err
}
