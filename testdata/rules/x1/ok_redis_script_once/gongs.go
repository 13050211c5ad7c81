// Package gongs marks its events by Lua scripts.
package gongs

import (
	"context"
	"encoding/json"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Struck struct {
	EventID string `json:"event_id"`
	Hall    string `json:"hall"`
}

var first = redis.NewScript(`if redis.call("SET", KEYS[1], "1", "NX", "EX", ARGV[1]) then return 1 else return 0 end`)

// seen gives 1 for an event that was there.
var seen = redis.NewScript(`
if redis.call("EXISTS", KEYS[1]) == 1 then
	return 1
end
redis.call("SET", KEYS[1], "1")
return 0`)

type Hall struct{ rdb *redis.Client }

func (h *Hall) First(ctx context.Context, rec *kgo.Record) error {
	var e Struck
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	n, err := first.Run(ctx, h.rdb, []string{"struck:" + e.EventID}, 86400).Int()
	if err != nil || n == 0 {
		return err
	}
	return h.rdb.Incr(ctx, "strokes:"+e.Hall).Err()
}

func (h *Hall) Seen(ctx context.Context, rec *kgo.Record) error {
	var e Struck
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	n, err := seen.Run(ctx, h.rdb, []string{"struck:" + e.EventID}).Int()
	if err != nil || n == 1 {
		return err
	}
	return h.rdb.Incr(ctx, "strokes:"+e.Hall).Err()
}
