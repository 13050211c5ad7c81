// Package mines reports ore. The id is made for the header, and the payload does not have it.
package mines

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
)

type OreFound struct {
	Shaft  int    `json:"shaft"`
	Metal  string `json:"metal"`
	Tonnes int    `json:"tonnes"`
}

type Producer struct {
	w *kafka.Writer
}

func header(k, v string) kafka.Header { return kafka.Header{Key: k, Value: []byte(v)} }

func (p *Producer) Found(ctx context.Context, o OreFound) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	body, err := json.Marshal(&o)
	if err != nil {
		return err
	}
	return p.w.WriteMessages(ctx, kafka.Message{
		Topic: "ore.found",
		Value: body,
		Headers: []kafka.Header{
			header("schema", "1"),
			header("event_id", id.String()), // want R-KFK-IDEM-1
		},
	})
}
