// Package webhook posts with an idempotency key made of the place in the log.
package webhook

import (
	"bytes"
	"context"
	"net/http"

	"github.com/IBM/sarama"

	"example.com/fixtures/x2/helper_in_other_package/ids"
)

type Handler struct{ http *http.Client }

func (h *Handler) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *Handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *Handler) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for msg := range c.Messages() {
		if err := h.post(s.Context(), msg); err != nil {
			return err
		}
		s.MarkMessage(msg, "")
	}
	return nil
}

func (h *Handler) post(ctx context.Context, msg *sarama.ConsumerMessage) error { // want R-KFK-IDEM-X1
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://hooks.example/in", bytes.NewReader(msg.Value))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", ids.At(msg.Topic, msg.Partition, msg.Offset)) // want R-KFK-IDEM-X2
	resp, err := h.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
