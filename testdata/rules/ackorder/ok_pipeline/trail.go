// Package trail queues commands on pipelines, of which nobody needs the single results: the pipeline's own tells.
package trail

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type HikerSeen struct {
	EventID string  `json:"event_id"`
	Hut     string  `json:"hut"`
	Hiker   string  `json:"hiker"`
	Height  float64 `json:"height"`
}

type Huts struct {
	r   *kafka.Reader
	rdb *redis.Client
}

func (h *Huts) Run(ctx context.Context) error {
	for {
		m, err := h.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var e HikerSeen
		if err := json.Unmarshal(m.Value, &e); err != nil {
			return err
		}
		if err := h.note(ctx, e); err != nil {
			return err
		}
		if err := h.rank(ctx, e); err != nil {
			return err
		}
		if err := h.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (h *Huts) note(ctx context.Context, e HikerSeen) error {
	pipe := h.rdb.Pipeline()
	pipe.HSet(ctx, "hut:"+e.Hut, "last", e.Hiker)
	pipe.ZAdd(ctx, "heights", redis.Z{Score: e.Height, Member: e.Hut})
	cmds, err := pipe.Exec(ctx)
	for _, c := range cmds {
		err = errors.Join(err, c.Err())
	}
	return err
}

func (h *Huts) rank(ctx context.Context, e HikerSeen) error {
	_, err := h.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, "hikers", redis.Z{Score: e.Height, Member: e.Hiker})
		p.Set(ctx, "hiker:"+e.Hiker, e.Hut, 0)
		return nil
	})
	return err
}
