// Package farms wraps what others made: the id may be in the raw part.
package farms

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Wrapped struct {
	Kind string          `json:"kind"`
	Data json.RawMessage `json:"data"`
}

type Producer struct {
	cl *kgo.Client
}

func (p *Producer) Send(ctx context.Context, id, kind string, data json.RawMessage) error {
	b, err := json.Marshal(Wrapped{Kind: kind, Data: data})
	if err != nil {
		return err
	}
	return p.cl.ProduceSync(ctx, &kgo.Record{Topic: "farms", Value: b, Headers: []kgo.RecordHeader{{Key: "event_id", Value: []byte(id)}}}).FirstErr()
}
