// Package docks reports ships. The headers are for tracing.
package docks

import (
	"context"
	"encoding/json"

	"github.com/segmentio/kafka-go"
)

type ShipDocked struct {
	Ship string `json:"ship"`
	Dock int    `json:"dock"`
}

type Producer struct {
	w *kafka.Writer
}

func (p *Producer) Docked(ctx context.Context, trace, request string, s ShipDocked) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return p.w.WriteMessages(ctx, kafka.Message{Value: b, Headers: []kafka.Header{
		{Key: "traceparent", Value: []byte(trace)},
		{Key: "request_id", Value: []byte(request)},
		{Key: "correlation_id", Value: []byte(request)},
	}})
}
