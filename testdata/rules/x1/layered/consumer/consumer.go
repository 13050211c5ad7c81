// Package consumer hands reservations to a service it knows as an interface only.
package consumer

import (
	"context"
	"encoding/json"

	"github.com/segmentio/kafka-go"
)

type Reservation struct {
	EventID string `json:"event_id"`
	Room    int64  `json:"room"`
}

// Booker books rooms.
type Booker interface {
	Book(ctx context.Context, room int64) error
}

type Consumer struct {
	reader *kafka.Reader
	booker Booker
}

func New(r *kafka.Reader, b Booker) *Consumer { return &Consumer{reader: r, booker: b} }

func (c *Consumer) Run(ctx context.Context) error {
	for {
		m, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.handle(ctx, m); err != nil {
			return err
		}
		if err := c.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (c *Consumer) handle(ctx context.Context, m kafka.Message) error { // want-alone R-KFK-IDEM-X1
	var r Reservation
	if err := json.Unmarshal(m.Value, &r); err != nil {
		return err
	}
	return c.booker.Book(ctx, r.Room)
}
