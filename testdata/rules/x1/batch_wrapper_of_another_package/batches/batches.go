// Package batches gathers messages and what they carry, and hands both to a function.
package batches

import (
	"encoding/json"

	"github.com/IBM/sarama"
)

// Handler is a consumer group handler of batches.
type Handler[T any] struct {
	Size int
	Do   func(msgs []*sarama.ConsumerMessage, events []T) error
}

// Setup does nothing.
func (h *Handler[T]) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup does nothing.
func (h *Handler[T]) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim gathers.
func (h *Handler[T]) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		var last *sarama.ConsumerMessage
		msgs := make([]*sarama.ConsumerMessage, 0, h.Size)
		events := make([]T, 0, h.Size)
		for range h.Size {
			msg, ok := <-claim.Messages()
			if !ok {
				return nil
			}
			last = msg
			var e T
			if err := json.Unmarshal(msg.Value, &e); err != nil {
				continue
			}
			msgs, events = append(msgs, msg), append(events, e)
		}
		if err := h.Do(msgs, events); err != nil {
			return err
		}
		session.MarkMessage(last, "")
	}
}
