// Package orders gives its events ids that are scattered.
package orders

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

type OrderPlaced struct {
	EventID uuid.UUID `json:"event_id"`
	OrderID int64     `json:"order_id"`
}

type Producer struct{ client *kgo.Client }

// page:begin
func (p *Producer) Publish(ctx context.Context, orderID int64) error {
	evt := OrderPlaced{EventID: uuid.New(), OrderID: orderID} // want R-KFK-IDEM-1
	value, err := json.Marshal(evt)
	if err != nil {
		return err
	}
	return p.client.ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: value}).FirstErr()
}

// page:end
