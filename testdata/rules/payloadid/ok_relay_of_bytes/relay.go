// Package relay sends what an outbox holds. What is in the payload cannot be seen here.
package relay

import (
	"context"

	"github.com/segmentio/kafka-go"
)

type Row struct {
	ID      string
	Topic   string
	Payload []byte
}

type Relay struct {
	w *kafka.Writer
}

func (r *Relay) Send(ctx context.Context, rows []Row) error {
	msgs := make([]kafka.Message, 0, len(rows))
	for _, row := range rows {
		msgs = append(msgs, kafka.Message{
			Topic:   row.Topic,
			Value:   row.Payload,
			Headers: []kafka.Header{{Key: "event_id", Value: []byte(row.ID)}},
		})
	}
	return r.w.WriteMessages(ctx, msgs...)
}
