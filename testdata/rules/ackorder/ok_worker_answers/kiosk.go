// Package kiosk hands what it consumes to workers, and acknowledges what they have answered for.
package kiosk

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/IBM/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

type ticketPrinted struct {
	Number string `json:"number"`
	Gate   string `json:"gate"`
}

func store(ctx context.Context, db *sql.DB, raw []byte) error {
	var t ticketPrinted
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `INSERT INTO tickets (number, gate) VALUES ($1, $2) ON CONFLICT (number) DO NOTHING`, t.Number, t.Gate)
	return err
}

// order is a message and the channel on which its worker answers.
type order struct {
	raw  []byte
	done chan error
}

type claims struct {
	queue chan order
	db    *sql.DB
}

func (c *claims) Setup(s sarama.ConsumerGroupSession) error {
	go func() {
		for o := range c.queue {
			o.done <- store(s.Context(), c.db, o.raw)
		}
	}()
	return nil
}

func (c *claims) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim waits for the answer, or for the end of the session.
func (c *claims) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m := range claim.Messages() {
		o := order{raw: m.Value, done: make(chan error, 1)}
		c.queue <- o
		select {
		case err := <-o.done:
			if err != nil {
				return err
			}
		case <-s.Context().Done():
			return nil
		}
		s.MarkMessage(m, "")
	}
	return nil
}

func consumeClaims(ctx context.Context, g sarama.ConsumerGroup, db *sql.DB) error {
	return g.Consume(ctx, []string{"tickets"}, &claims{queue: make(chan order), db: db})
}

// selfMarked is a worker that marks what it has done; whoever polls commits what is marked.
type selfMarked struct {
	cl    *kgo.Client
	db    *sql.DB
	queue chan *kgo.Record
}

func (s *selfMarked) run(ctx context.Context) error {
	go s.work(ctx)
	for {
		fs := s.cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return err
		}
		fs.EachRecord(func(rec *kgo.Record) { s.queue <- rec })
		if err := s.cl.CommitMarkedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (s *selfMarked) work(ctx context.Context) {
	for rec := range s.queue {
		if err := store(ctx, s.db, rec.Value); err != nil {
			slog.Error("store", "err", err)
			return
		}
		s.cl.MarkCommitRecords(rec)
	}
}

// twoWays gives messages out by one channel, and commits what comes back by another.
func twoWays(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	out, back := make(chan kafka.Message), make(chan kafka.Message)
	go func() {
		for m := range out {
			for store(ctx, db, m.Value) != nil {
				time.Sleep(time.Second)
			}
			back <- m
		}
	}()
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		out <- m
		if err := r.CommitMessages(ctx, <-back); err != nil {
			return err
		}
	}
}

// watched also tells a display what came, which keeps nothing.
type watched struct {
	r       *kafka.Reader
	db      *sql.DB
	display chan string
}

func (w *watched) run(ctx context.Context) error {
	go func() {
		for s := range w.display {
			slog.Info("printed", "ticket", s)
		}
	}()
	for {
		m, err := w.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := store(ctx, w.db, m.Value); err != nil {
			return err
		}
		select {
		case w.display <- string(m.Key):
		default:
		}
		if err := w.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

// crew runs tasks that acknowledge what they have done.
type crew struct{ tasks chan func() }

func (c *crew) work() {
	for task := range c.tasks {
		task()
	}
}

func (c *crew) run(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	for range 4 {
		go c.work()
	}
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		c.tasks <- func() {
			if err := store(ctx, db, m.Value); err != nil {
				slog.Error("store", "err", err)
				return
			}
			if err := r.CommitMessages(ctx, m); err != nil {
				slog.Error("commit", "err", err)
			}
		}
	}
}

var _ = []any{consumeClaims, (*selfMarked).run, twoWays, (*watched).run, (*crew).run}
