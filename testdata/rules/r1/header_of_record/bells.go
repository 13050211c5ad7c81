// Package bells writes its event ids into headers, beside the payload's.
package bells

import (
	"context"

	"github.com/IBM/sarama"
	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

func Ring(ctx context.Context, cl *kgo.Client, body []byte) error {
	r := &kgo.Record{Topic: "bells", Value: body}
	r.Headers = append(r.Headers,
		kgo.RecordHeader{Key: "event-id", Value: []byte(uuid.NewString())}, // want R-KFK-IDEM-1
		kgo.RecordHeader{Key: "correlation-id", Value: []byte(uuid.NewString())},
	)
	return cl.ProduceSync(ctx, r).FirstErr()
}

type carrier []sarama.RecordHeader

func (c *carrier) Set(key, value string) {
	*c = append(*c, sarama.RecordHeader{Key: []byte(key), Value: []byte(value)})
}

func Toll(body []byte) *sarama.ProducerMessage {
	var c carrier
	c.Set("message_id", uuid.NewString()) // want R-KFK-IDEM-1
	c.Set("trace_id", uuid.NewString())
	return &sarama.ProducerMessage{Topic: "bells", Value: sarama.ByteEncoder(body), Headers: c}
}
