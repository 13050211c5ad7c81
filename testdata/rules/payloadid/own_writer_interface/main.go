// Command main publishes through an interface of its own.
package main

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
)

type PriceChanged struct {
	SKU   string `json:"sku"`
	Cents int64  `json:"cents"`
}

type writer interface {
	WriteMessages(ctx context.Context, msgs ...kafka.Message) error
}

func publish(ctx context.Context, w writer, evt PriceChanged) error {
	body, err := json.Marshal(evt)
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	msg := kafka.Message{
		Value: body,
		Headers: []kafka.Header{
			{Key: "event-id", Value: []byte(id.String())}, // want R-KFK-IDEM-1
		},
	}
	return w.WriteMessages(ctx, msg)
}

func main() {
	_ = publish(context.Background(), &kafka.Writer{}, PriceChanged{})
}
