// Package orders inserts an order that is unique on the event; the violation is the answer for a repeat.
package orders

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Placed struct {
	ID    string `json:"id"`
	Total int64  `json:"total"`
}

type Consumer struct {
	r    *kafka.Reader
	pool *pgxpool.Pool
	w    *kafka.Writer
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		m, err := c.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.handle(ctx, m); err != nil {
			return err
		}
		if err := c.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (c *Consumer) handle(ctx context.Context, m kafka.Message) error {
	var evt Placed
	if err := json.Unmarshal(m.Value, &evt); err != nil {
		return err
	}
	_, err := c.pool.Exec(ctx, `INSERT INTO orders (reference, total) VALUES ($1, $2)`, evt.ID, evt.Total)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" {
		return nil
	}
	if err != nil {
		return err
	}
	return c.w.WriteMessages(ctx, kafka.Message{Topic: "orders.accepted", Value: m.Value})
}
