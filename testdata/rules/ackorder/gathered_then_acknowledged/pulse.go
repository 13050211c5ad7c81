// Package pulse gathers what it consumes in memory and acknowledges it there; what is gathered is written later.
package pulse

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/segmentio/kafka-go"
)

type Beat struct {
	Device string `json:"device"`
	Rate   int    `json:"rate"`
}

// Sink is emptied by a goroutine of its own.
type Sink struct {
	mu    sync.Mutex
	beats []Beat
	db    *sql.DB
}

func (s *Sink) Follow(ctx context.Context, in <-chan *message.Message) {
	go s.flushEvery(ctx, time.Second)
	for m := range in {
		var b Beat
		if err := json.Unmarshal(m.Payload, &b); err != nil {
			m.Nack()
			continue
		}
		s.mu.Lock()
		s.beats = append(s.beats, b)
		s.mu.Unlock()
		m.Ack() // want R-KFK-IDEM-3
	}
}

func (s *Sink) flushEvery(ctx context.Context, d time.Duration) {
	t := time.NewTicker(d)
	defer t.Stop()
	for range t.C {
		if err := s.write(ctx, s.take()); err != nil {
			slog.Error("write", "err", err)
		}
	}
}

// take empties the sink.
func (s *Sink) take() []Beat {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.beats
	s.beats = nil
	return out
}

func (s *Sink) write(ctx context.Context, beats []Beat) error {
	for _, b := range beats {
		if _, err := s.db.ExecContext(ctx, `INSERT INTO beats (device, rate) VALUES ($1, $2) ON CONFLICT (device) DO UPDATE SET rate = excluded.rate`, b.Device, b.Rate); err != nil {
			return err
		}
	}
	return nil
}

// Hundreds writes when a hundred have come together, and commits each at once.
type Hundreds struct {
	r    *kafka.Reader
	db   *sql.DB
	held []kafka.Message
}

func (h *Hundreds) Run(ctx context.Context) error {
	for {
		m, err := h.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		h.held = append(h.held, m)
		if len(h.held) >= 100 {
			if err := h.flush(ctx); err != nil {
				return err
			}
		}
		if err := h.r.CommitMessages(ctx, m); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

func (h *Hundreds) flush(ctx context.Context) error {
	for _, m := range h.held {
		if _, err := h.db.ExecContext(ctx, `INSERT INTO raw (key, body) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`, m.Key, m.Value); err != nil {
			return err
		}
	}
	h.held = h.held[:0]
	return nil
}
