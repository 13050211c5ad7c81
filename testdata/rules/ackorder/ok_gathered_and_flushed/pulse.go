// Package pulse gathers what it consumes in memory, and acknowledges what was written.
package pulse

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
)

func insert(ctx context.Context, db *sql.DB, key, body []byte) error {
	_, err := db.ExecContext(ctx, `INSERT INTO raw (key, body) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING`, key, body)
	return err
}

// Hundreds commits when it has written.
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
		if len(h.held) < 100 {
			continue
		}
		for _, m := range h.held {
			if err := insert(ctx, h.db, m.Key, m.Value); err != nil {
				return err
			}
		}
		if err := h.r.CommitMessages(ctx, h.held...); err != nil {
			return err
		}
		h.held = h.held[:0]
	}
}

// Each writes what it has gathered before it marks.
type Each struct {
	db   *sql.DB
	rows [][]byte
}

func (e *Each) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (e *Each) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (e *Each) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for m := range c.Messages() {
		e.rows = append(e.rows, m.Value)
		if err := e.flush(s.Context(), m.Key); err != nil {
			return err
		}
		s.MarkMessage(m, "")
	}
	return nil
}

func (e *Each) flush(ctx context.Context, key []byte) error {
	rows := e.rows
	e.rows = nil
	for _, row := range rows {
		if err := insert(ctx, e.db, key, row); err != nil {
			return err
		}
	}
	return nil
}

func consume(ctx context.Context, g sarama.ConsumerGroup, db *sql.DB) error {
	return g.Consume(ctx, []string{"beats"}, &Each{db: db})
}

// Sink is emptied by a goroutine that also commits.
type Sink struct {
	mu   sync.Mutex
	held []kafka.Message
	db   *sql.DB
	r    *kafka.Reader
}

func (s *Sink) Follow(ctx context.Context) error {
	go s.flushEvery(ctx, time.Second)
	for {
		m, err := s.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.held = append(s.held, m)
		s.mu.Unlock()
	}
}

func (s *Sink) flushEvery(ctx context.Context, d time.Duration) {
	t := time.NewTicker(d)
	defer t.Stop()
	for range t.C {
		s.mu.Lock()
		held := s.held
		s.held = nil
		s.mu.Unlock()
		for _, m := range held {
			if err := insert(ctx, s.db, m.Key, m.Value); err != nil {
				slog.Error("insert", "err", err)
				return
			}
		}
		if err := s.r.CommitMessages(ctx, held...); err != nil {
			slog.Error("commit", "err", err)
		}
	}
}

// Recent remembers what came last for who asks, and writes it nowhere.
type Recent struct {
	r    *kafka.Reader
	db   *sql.DB
	last [][]byte
}

func (r *Recent) Run(ctx context.Context) error {
	for {
		m, err := r.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := insert(ctx, r.db, m.Key, m.Value); err != nil {
			return err
		}
		r.last = append(r.last, m.Key)
		if err := r.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (r *Recent) Take() [][]byte {
	out := r.last
	r.last = nil
	return out
}

var _ = consume
