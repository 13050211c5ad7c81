// Package bells treats any failure of Redis as an absent key.
package bells

import (
	"context"
	"encoding/json"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Rung struct {
	EventID string `json:"event_id"`
	Tower   string `json:"tower"`
}

type Ringer struct{ rdb *redis.Client }

func (r *Ringer) Get(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Rung
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	if _, err := r.rdb.Get(ctx, "rung:"+e.EventID).Result(); err == nil {
		return nil
	}
	if err := r.rdb.RPush(ctx, "strokes:"+e.Tower, e.EventID).Err(); err != nil {
		return err
	}
	return r.rdb.Set(ctx, "rung:"+e.EventID, 1, time.Hour).Err()
}

var hold = redis.NewScript(`return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", 5000)`)

// Held takes a lock, which is no memory of what was done.
func (r *Ringer) Held(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Rung
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	if _, err := hold.Run(ctx, r.rdb, []string{"lock:" + e.Tower}, "me").Result(); err != nil {
		return err
	}
	return r.rdb.Incr(ctx, "strokes:"+e.Tower).Err()
}
