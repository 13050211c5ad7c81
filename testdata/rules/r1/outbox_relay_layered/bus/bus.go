// Package bus is Kafka.
package bus

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type envelope struct {
	ID   string          `json:"id"`
	Data json.RawMessage `json:"data"`
}

type Bus struct{ cl *kgo.Client }

func New(cl *kgo.Client) *Bus { return &Bus{cl} }

func (b *Bus) Publish(ctx context.Context, topic, messageID string, payload []byte) error {
	v, err := json.Marshal(envelope{ID: messageID, Data: payload})
	if err != nil {
		return err
	}
	return b.cl.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: v}).FirstErr()
}
