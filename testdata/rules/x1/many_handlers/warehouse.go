// Package warehouse is a service as many are: a loop, a retry, a recover, three handlers, and an error logged after every
// step. It is small, and its ways are many.
package warehouse

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type created struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type moved struct {
	ID    string `json:"id"`
	Shelf string `json:"shelf"`
	Count int64  `json:"count"`
}

type removed struct {
	ID string `json:"id"`
}

type part struct {
	ID, Name, Shelf string
	Count           int64
	State           string
}

var errNotFound = errors.New("no such part")

type failure struct{ code string }

func (f *failure) Error() string { return f.code }

func internal(msg string) *failure {
	if msg == "" {
		msg = "internal"
	}
	return &failure{msg}
}

type store struct {
	db    *sql.DB
	cache *redis.Client
}

func (s *store) get(ctx context.Context, id string) (*part, error) {
	var p part
	err := s.db.QueryRowContext(ctx, `SELECT id, name, shelf, count, state FROM parts WHERE id = $1`, id).Scan(&p.ID, &p.Name, &p.Shelf, &p.Count, &p.State)
	if errors.Is(err, sql.ErrNoRows) {
		slog.InfoContext(ctx, "no such part", "id", id)
		return nil, errNotFound
	}
	if err != nil {
		slog.ErrorContext(ctx, "part not read", "id", id, "err", err)
		return nil, err
	}
	return &p, nil
}

func (s *store) insert(ctx context.Context, p *part) error {
	if _, err := s.db.ExecContext(ctx, `INSERT INTO parts (name, shelf, count, state) VALUES ($1, $2, $3, $4)`, p.Name, p.Shelf, p.Count, p.State); err != nil {
		slog.ErrorContext(ctx, "part not written", "id", p.ID, "err", err)
		return err
	}
	return nil
}

func (s *store) setState(ctx context.Context, id, state string) error {
	res, err := s.db.ExecContext(ctx, `UPDATE parts SET state = $2 WHERE id = $1`, id, state)
	if err != nil {
		slog.ErrorContext(ctx, "state not written", "id", id, "err", err)
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errNotFound
	}
	return nil
}

func (s *store) put(ctx context.Context, p *part) {
	data, err := json.Marshal(p)
	if err != nil {
		slog.WarnContext(ctx, "part not encoded", "err", err)
		return
	}
	if err := attempt(ctx, 2, func() error { return s.cache.Set(ctx, s.key(p.ID), data, time.Hour).Err() }); err != nil {
		slog.WarnContext(ctx, "part not cached", "err", err)
		return
	}
	slog.DebugContext(ctx, "part cached", "key", s.key(p.ID))
}

func (s *store) key(id string) string {
	if id == "" {
		return "part:none"
	}
	return "part:" + id
}

type service struct{ store *store }

func (s *service) created(ctx context.Context, e created) error {
	slog.InfoContext(ctx, "created", "id", e.ID)
	p := &part{ID: e.ID, Name: e.Name, State: "new"}
	if err := attempt(ctx, 3, func() error { return s.store.insert(ctx, p) }); err != nil {
		return internal("part not created")
	}
	s.store.put(ctx, p)
	return nil
}

func (s *service) moved(ctx context.Context, e moved) error {
	p, err := s.find(ctx, e.ID)
	if err != nil {
		slog.ErrorContext(ctx, "part not found", "id", e.ID, "err", err)
		return internal("part not found")
	}
	if p.State != "new" {
		return internal("part has left")
	}
	if err := attempt(ctx, 3, func() error { return s.store.setState(ctx, e.ID, "moved") }); err != nil {
		return internal("part not moved")
	}
	if err := attempt(ctx, 3, func() error { return s.audit(ctx, p, e) }); err != nil {
		return internal("move not noted")
	}
	p.Shelf = e.Shelf
	s.store.put(ctx, p)
	return nil
}

// find reads a part, once more where that fails.
func (s *service) find(ctx context.Context, id string) (p *part, err error) {
	err = attempt(ctx, 3, func() error {
		p, err = s.store.get(ctx, id)
		return err
	})
	return p, err
}

// audit notes what is remarkable about a move.
func (s *service) audit(ctx context.Context, p *part, e moved) error {
	note := struct{ kind, from, to string }{kind: "move"}
	if p.Shelf == "" {
		note.kind = "first"
	}
	if e.Count > p.Count {
		note.from = "short"
	}
	if e.Shelf == p.Shelf {
		note.to = "same"
	}
	if e.Count == 0 {
		return nil
	}
	if p.Name == "" {
		return internal("a part without a name")
	}
	slog.InfoContext(ctx, "moved", "note", note)
	return s.store.setState(ctx, e.ID, "noted")
}

func (s *service) removed(ctx context.Context, e removed) error {
	p, err := s.find(ctx, e.ID)
	if err != nil {
		if errors.Is(err, errNotFound) {
			return nil
		}
		return internal("part not read")
	}
	if p.State == "removed" {
		return nil
	}
	if err := attempt(ctx, 3, func() error { return s.store.setState(ctx, e.ID, "removed") }); err != nil {
		if errors.Is(err, errNotFound) {
			slog.InfoContext(ctx, "part has gone", "id", e.ID)
			return nil
		}
		return internal("part not removed")
	}
	s.store.put(ctx, p)
	return nil
}

type handler func(ctx context.Context, msg kafka.Message) error

type consumer struct {
	reader *kafka.Reader
	dead   *kafka.Writer
	svc    *service
	routes map[string]handler
}

func newConsumer(r *kafka.Reader, dead *kafka.Writer, svc *service) *consumer {
	c := &consumer{reader: r, dead: dead, svc: svc}
	c.routes = map[string]handler{"created": c.onCreated, "moved": c.onMoved, "removed": c.onRemoved}
	return c
}

func decode[T any](ctx context.Context, c *consumer, msg kafka.Message) (T, bool) {
	var e T
	if err := json.Unmarshal(msg.Value, &e); err != nil {
		slog.ErrorContext(ctx, "not decoded", "err", err)
		c.bury(ctx, msg, err)
		return e, false
	}
	return e, true
}

func (c *consumer) onCreated(ctx context.Context, msg kafka.Message) error { // want R-KFK-IDEM-X1
	e, ok := decode[created](ctx, c, msg)
	if !ok {
		return nil
	}
	if e.ID == "" {
		c.bury(ctx, msg, nil)
		return nil
	}
	return c.svc.created(ctx, e)
}

func (c *consumer) onMoved(ctx context.Context, msg kafka.Message) error {
	e, ok := decode[moved](ctx, c, msg)
	if !ok {
		return nil
	}
	if e.ID == "" {
		c.bury(ctx, msg, nil)
		return nil
	}
	return c.svc.moved(ctx, e)
}

func (c *consumer) onRemoved(ctx context.Context, msg kafka.Message) error {
	e, ok := decode[removed](ctx, c, msg)
	if !ok {
		return nil
	}
	if e.ID == "" {
		c.bury(ctx, msg, nil)
		return nil
	}
	return c.svc.removed(ctx, e)
}

func (c *consumer) bury(ctx context.Context, msg kafka.Message, cause error) {
	reason := ""
	if cause != nil {
		reason = cause.Error()
	}
	if err := c.dead.WriteMessages(ctx, kafka.Message{Topic: "parts.dlq", Key: []byte(reason), Value: msg.Value}); err != nil {
		slog.ErrorContext(ctx, "dead letter not sent", "err", err)
		return
	}
	slog.InfoContext(ctx, "dead letter sent", "topic", msg.Topic)
}

func guarded(ctx context.Context, msg kafka.Message, h handler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			slog.ErrorContext(ctx, "panic", "err", err)
		}
	}()
	return h(ctx, msg)
}

func attempt(ctx context.Context, n int, fn func() error) error {
	var err error
	for i := 0; i < n; i++ {
		if err = fn(); err == nil {
			return nil
		}
		if i < n-1 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Duration(i) * time.Second):
			}
		}
	}
	return err
}

func (c *consumer) route(ctx context.Context, msg kafka.Message) error {
	h, ok := c.routes[msg.Topic]
	if !ok {
		slog.InfoContext(ctx, "no route", "topic", msg.Topic)
		return nil
	}
	return h(ctx, msg)
}

func (c *consumer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		default:
		}
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			slog.WarnContext(ctx, "not fetched", "err", err)
			continue
		}
		if err := attempt(ctx, 3, func() error { return guarded(ctx, msg, c.route) }); err != nil {
			c.bury(ctx, msg, err)
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil {
			slog.ErrorContext(ctx, "not committed", "err", err)
		}
	}
}

// Run serves.
func Run(ctx context.Context, r *kafka.Reader, dead *kafka.Writer, db *sql.DB, cache *redis.Client) {
	newConsumer(r, dead, &service{&store{db, cache}}).run(ctx)
}
