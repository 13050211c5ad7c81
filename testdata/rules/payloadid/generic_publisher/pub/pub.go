// Package pub sends events.
package pub

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Publisher struct {
	Client *kgo.Client
}

// Publish sends an event under an id.
func (p *Publisher) Publish(ctx context.Context, topic, id string, event any) error {
	value, err := json.Marshal(event)
	if err != nil {
		return fmt.Errorf("encode for %s: %w", topic, err)
	}
	rec := &kgo.Record{Topic: topic, Value: value}
	rec.Headers = append(rec.Headers, kgo.RecordHeader{Key: "ce_id", Value: []byte(id)}) // want-alone R-KFK-IDEM-1
	return p.Client.ProduceSync(ctx, rec).FirstErr()
}
