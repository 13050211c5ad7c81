package points

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Producer struct{ client *kgo.Client }

// page:begin
func (p *Producer) Publish(ctx context.Context, id uuid.UUID, evt OrderPlaced) error { // OrderPlaced has no id
	value, err := json.Marshal(evt)
	if err != nil {
		return err
	}
	return p.client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: value, Headers: []kgo.RecordHeader{
		{Key: "event_id", Value: []byte(id.String())}, // want R-KFK-IDEM-1
	}}).FirstErr()
}

// page:end
