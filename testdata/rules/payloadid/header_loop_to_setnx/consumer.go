// Package alarms forwards alarms. The key by which repeats are told comes from a header.
package alarms

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type Consumer struct {
	reader *kafka.Reader
	out    *kafka.Writer
	rdb    *redis.Client
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.forward(ctx, msg); err != nil {
			return err
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (c *Consumer) forward(ctx context.Context, msg kafka.Message) error {
	var id, kind string
	for _, h := range msg.Headers {
		switch h.Key {
		case "kind":
			kind = string(h.Value)
		case "event_id": // want R-KFK-IDEM-1
			id = string(h.Value)
		}
	}
	if id == "" {
		return fmt.Errorf("alarm of kind %s without an id", kind)
	}
	fresh, err := c.rdb.SetNX(ctx, "alarm:"+id, 1, time.Hour).Result()
	if err != nil || !fresh {
		return err
	}
	return c.out.WriteMessages(ctx, kafka.Message{Topic: "alarms.out", Value: msg.Value})
}
