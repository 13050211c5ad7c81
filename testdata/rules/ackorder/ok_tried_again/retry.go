// Package retry tries again what failed: the second attempt goes the way of the first, to the same failure.
package retry

import (
	"context"
	"database/sql"

	"github.com/segmentio/kafka-go"
)

// Router has a function for each topic.
type Router struct {
	reader *kafka.Reader
	writer *kafka.Writer
	db     *sql.DB
	routes map[string]func(ctx context.Context, body []byte) error
}

// New makes a router.
func New(r *kafka.Reader, w *kafka.Writer, db *sql.DB) *Router {
	t := &Router{reader: r, writer: w, db: db}
	t.routes = map[string]func(ctx context.Context, body []byte) error{"prices": t.price, "stocks": t.stock}
	return t
}

func attempt(n int, fn func() error) error {
	var err error
	for range n {
		if err = fn(); err == nil {
			return nil
		}
	}
	return err
}

// Run routes.
func (t *Router) Run(ctx context.Context) error {
	for {
		msg, err := t.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := attempt(3, func() error { return t.route(ctx, msg) }); err != nil {
			if err := t.writer.WriteMessages(ctx, kafka.Message{Topic: "routed.dlq", Key: msg.Key, Value: msg.Value}); err != nil {
				return err
			}
		}
		if err := t.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (t *Router) route(ctx context.Context, msg kafka.Message) error {
	do, ok := t.routes[msg.Topic]
	if !ok {
		return nil
	}
	return do(ctx, msg.Value)
}

func (t *Router) price(ctx context.Context, body []byte) error {
	_, err := t.db.ExecContext(ctx, `INSERT INTO prices (name, body) VALUES ('last', $1) ON CONFLICT (name) DO UPDATE SET body = EXCLUDED.body`, body)
	return err
}

func (t *Router) stock(ctx context.Context, body []byte) error {
	_, err := t.db.ExecContext(ctx, `INSERT INTO stocks (name, body) VALUES ('last', $1) ON CONFLICT (name) DO UPDATE SET body = EXCLUDED.body`, body)
	return err
}
