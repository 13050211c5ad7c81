// Package bells asks Redis with GET and with SET NX; in both, only redis.Nil tells the one case from the other.
package bells

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type Rung struct {
	EventID string `json:"event_id"`
	Tower   string `json:"tower"`
}

type Ringer struct{ rdb *redis.Client }

// Get goes on only where the key is absent.
func (r *Ringer) Get(ctx context.Context, m kafka.Message) error {
	var e Rung
	if err := json.Unmarshal(m.Value, &e); err != nil {
		return err
	}
	_, err := r.rdb.Get(ctx, "rung:"+e.EventID).Result()
	if err == nil {
		return nil
	}
	if !errors.Is(err, redis.Nil) {
		return err
	}
	if err := r.rdb.RPush(ctx, "strokes:"+e.Tower, e.EventID).Err(); err != nil {
		return err
	}
	return r.rdb.Set(ctx, "rung:"+e.EventID, 1, time.Hour).Err()
}

// Claim stops where the key could not be set, since it was there.
func (r *Ringer) Claim(ctx context.Context, m kafka.Message) error {
	var e Rung
	if err := json.Unmarshal(m.Value, &e); err != nil {
		return err
	}
	err := r.rdb.SetArgs(ctx, "rung:"+e.EventID, 1, redis.SetArgs{Mode: "NX", TTL: time.Hour}).Err()
	switch err {
	case nil:
	case redis.Nil:
		return nil
	default:
		return err
	}
	return r.rdb.Incr(ctx, "strokes:"+e.Tower).Err()
}

func Run(ctx context.Context, in *kafka.Reader, handle func(context.Context, kafka.Message) error) error {
	for {
		m, err := in.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := handle(ctx, m); err != nil {
			return err
		}
		if err := in.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func Main(ctx context.Context, in *kafka.Reader, rdb *redis.Client) error {
	r := &Ringer{rdb: rdb}
	go Run(ctx, in, r.Get)
	return Run(ctx, in, r.Claim)
}
