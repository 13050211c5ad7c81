// Package kiosk hands what it consumes to workers and acknowledges at once: what is still in a channel when the process
// dies was never done.
package kiosk

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
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
	return insert(ctx, db, t)
}

func insert(ctx context.Context, db *sql.DB, t ticketPrinted) error {
	_, err := db.ExecContext(ctx, `INSERT INTO tickets (number, gate) VALUES ($1, $2) ON CONFLICT (number) DO NOTHING`, t.Number, t.Gate)
	return err
}

// byLocalChannel starts its one worker itself.
func byLocalChannel(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	queue := make(chan kafka.Message, 64)
	go func() {
		for m := range queue {
			if err := store(ctx, db, m.Value); err != nil {
				slog.Error("store", "err", err)
			}
		}
	}()
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		queue <- m
		if err := r.CommitMessages(ctx, m); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

// claims gives its messages to workers of the session, unless that is over.
type claims struct {
	queue chan *sarama.ConsumerMessage
	db    *sql.DB
}

func newClaims(db *sql.DB) *claims {
	return &claims{queue: make(chan *sarama.ConsumerMessage, 16), db: db}
}

func (c *claims) Setup(s sarama.ConsumerGroupSession) error {
	for range 3 {
		go c.work(s.Context())
	}
	return nil
}

func (c *claims) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (c *claims) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for m := range claim.Messages() {
		select {
		case c.queue <- m:
		case <-s.Context().Done():
			return nil
		}
		s.MarkMessage(m, "") // want R-KFK-IDEM-3
	}
	return nil
}

func (c *claims) work(ctx context.Context) {
	for {
		select {
		case m := <-c.queue:
			if err := store(ctx, c.db, m.Value); err != nil {
				slog.Error("store", "err", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func consumeClaims(ctx context.Context, g sarama.ConsumerGroup, db *sql.DB) error {
	return g.Consume(ctx, []string{"tickets"}, newClaims(db))
}

// lanes has a worker for each partition, which gets what the messages say.
type lanes struct {
	cl  *kgo.Client
	db  *sql.DB
	all map[int32]chan ticketPrinted
}

func (l *lanes) run(ctx context.Context) error {
	for {
		fs := l.cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return err
		}
		for it := fs.RecordIter(); !it.Done(); {
			rec := it.Next()
			var t ticketPrinted
			if err := json.Unmarshal(rec.Value, &t); err != nil {
				slog.Error("decode", "err", err)
				continue
			}
			lane := l.all[rec.Partition]
			if lane == nil {
				lane = make(chan ticketPrinted, 8)
				l.all[rec.Partition] = lane
				go l.lane(ctx, lane)
			}
			lane <- t
		}
		if err := l.cl.CommitUncommittedOffsets(ctx); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

func (l *lanes) lane(ctx context.Context, in <-chan ticketPrinted) {
	for t := range in {
		if err := insert(ctx, l.db, t); err != nil {
			slog.Error("insert", "err", err)
		}
	}
}

// crew runs whatever it is given.
type crew struct{ tasks chan func() }

func newCrew(n int) *crew {
	c := &crew{tasks: make(chan func())}
	for range n {
		go func() {
			for task := range c.tasks {
				task()
			}
		}()
	}
	return c
}

func (c *crew) Submit(task func()) { c.tasks <- task }

func byCrew(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	c := newCrew(4)
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		c.Submit(func() {
			if err := store(ctx, db, m.Value); err != nil {
				slog.Error("store", "err", err)
			}
		})
		if err := r.CommitMessages(ctx, m); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

// desk is a handler of a router: it acknowledges by returning.
type desk struct {
	db *sql.DB
	in chan []byte
}

func (d *desk) Handle(msg *message.Message) error {
	d.in <- msg.Payload
	return nil
}

func (d *desk) serve(ctx context.Context) {
	for raw := range d.in {
		var t ticketPrinted
		if err := json.Unmarshal(raw, &t); err != nil {
			continue
		}
		if _, err := d.db.ExecContext(ctx, `UPDATE gates SET last = $1 WHERE gate = $2`, t.Number, t.Gate); err != nil { // want R-KFK-IDEM-3
			slog.Error("update", "err", err)
		}
	}
}

func route(ctx context.Context, router *message.Router, sub message.Subscriber, db *sql.DB) {
	d := &desk{db: db, in: make(chan []byte)}
	go d.serve(ctx)
	router.AddNoPublisherHandler("tickets", "tickets", sub, d.Handle)
}

// byRead reads with a reader that commits what it returns.
func byRead(ctx context.Context, db *sql.DB) error {
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{"localhost:9092"}, GroupID: "kiosk", Topic: "tickets"})
	queue := make(chan kafka.Message)
	go func() {
		for m := range queue {
			if err := store(ctx, db, m.Value); err != nil {
				slog.Error("store", "err", err)
			}
		}
	}()
	for {
		m, err := r.ReadMessage(ctx) // want R-KFK-IDEM-3
		if err != nil {
			return err
		}
		queue <- m
	}
}

var _ = []any{byLocalChannel, consumeClaims, (*lanes).run, byCrew, route, byRead}
