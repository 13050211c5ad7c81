// Package ok_command_by_name sets its mark by a command that it gives by name.
package ok_command_by_name

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type visit struct {
	EventID string `json:"event_id"`
	Door    string `json:"door"`
}

type Bell struct {
	reader *kafka.Reader
	cache  *redis.Client
}

func (b *Bell) Run(ctx context.Context) error {
	for {
		m, err := b.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var v visit
		if err := json.Unmarshal(m.Value, &v); err != nil {
			return err
		}
		if err := b.ring(ctx, v); err != nil {
			return err
		}
		if err := b.chime(ctx, v); err != nil {
			return err
		}
		if err := b.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (b *Bell) ring(ctx context.Context, v visit) error {
	err := b.cache.Do(ctx, "SET", "rung:"+v.EventID, 1, "EX", 86400, "NX").Err()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = http.Post("http://bell.local/"+v.Door, "text/plain", nil)
	return err
}

func (b *Bell) chime(ctx context.Context, v visit) error {
	set, err := b.cache.Do(ctx, "setnx", "chimed:"+v.EventID, 1).Int()
	if err != nil || set == 0 {
		return err
	}
	_, err = http.Post("http://chime.local/"+v.Door, "text/plain", nil)
	return err
}
