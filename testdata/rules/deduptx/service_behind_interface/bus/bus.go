// Package bus takes reservations out of Kafka.
package bus

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type TableReserved struct {
	EventID string `json:"event_id"`
	Table   int    `json:"table"`
}

// Reservations does the work.
type Reservations interface {
	Reserve(ctx context.Context, evt TableReserved) error
}

type Consumer struct {
	Client *kgo.Client
	Svc    Reservations
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		fs := c.Client.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return err
		}
		for _, rec := range fs.Records() {
			var evt TableReserved
			if err := json.Unmarshal(rec.Value, &evt); err != nil {
				return err
			}
			if err := c.Svc.Reserve(ctx, evt); err != nil { // want-alone R-KFK-IDEM-3
				return err
			}
		}
		if err := c.Client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}
