// Package kites flies kites. What cannot be stored goes to a topic of its own before the commit.
package kites

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type KiteFlown struct {
	Kite string `json:"kite"`
	M    int    `json:"m"`
}

type Consumer struct {
	reader *kafka.Reader
	dlq    *kafka.Writer
	pool   *pgxpool.Pool
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.store(ctx, msg); err != nil {
			dead := kafka.Message{Key: msg.Key, Value: msg.Value, Headers: append(msg.Headers, kafka.Header{Key: "error", Value: []byte(err.Error())})}
			if err := c.dlq.WriteMessages(ctx, dead); err != nil {
				return fmt.Errorf("dead letter: %w", err)
			}
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (c *Consumer) store(ctx context.Context, msg kafka.Message) error {
	var evt KiteFlown
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	_, err := c.pool.Exec(ctx, `INSERT INTO kites (name, metres) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET metres = excluded.metres`, evt.Kite, evt.M)
	return err
}
