// Package claims hears of fallen trees.
package claims

import (
	"context"
	"encoding/json"

	"github.com/segmentio/kafka-go"
)

// Counter counts trees.
type Counter interface {
	Fallen(ctx context.Context, stand string) error
}

// Consumer reads claims.
type Consumer struct {
	Reader  *kafka.Reader
	Counter Counter
}

// Run reads claims until ctx ends.
func (c *Consumer) Run(ctx context.Context) error {
	for {
		m, err := c.Reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.handle(ctx, m); err != nil {
			return err
		}
		if err := c.Reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

//idemlint:ignore R-KFK-IDEM-X1 the count is an estimate, a tree more does not matter
func (c *Consumer) handle(ctx context.Context, m kafka.Message) error {
	var claim struct {
		Stand string `json:"stand"`
	}
	if err := json.Unmarshal(m.Value, &claim); err != nil {
		return err
	}
	return c.Counter.Fallen(ctx, claim.Stand)
}
