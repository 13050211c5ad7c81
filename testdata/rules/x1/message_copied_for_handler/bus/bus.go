// Package bus hands messages on in a type of its own.
package bus

import (
	"context"

	"github.com/IBM/sarama"
)

// Letter is a message.
type Letter struct {
	Topic string
	Key   string
	Body  []byte
}

// Handler takes letters.
type Handler interface {
	Handle(ctx context.Context, l *Letter) error
}

// Bus has a handler for each topic.
type Bus struct{ Handlers map[string]Handler }

// Setup does nothing.
func (b *Bus) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup does nothing.
func (b *Bus) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim hands on.
func (b *Bus) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		if err := b.deliver(session.Context(), msg); err != nil {
			return err
		}
		session.MarkMessage(msg, "")
	}
	return nil
}

func (b *Bus) deliver(ctx context.Context, msg *sarama.ConsumerMessage) error {
	h, ok := b.Handlers[msg.Topic]
	if !ok {
		return nil
	}
	return h.Handle(ctx, &Letter{Topic: msg.Topic, Key: string(msg.Key), Body: msg.Value})
}
