// Package trail counts hikers with pipelines, and does not ask whether these ran.
package trail

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type HikerSeen struct {
	EventID string `json:"event_id"`
	Hut     string `json:"hut"`
	Hiker   string `json:"hiker"`
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
		h.note(ctx, e)
		if err := h.r.CommitMessages(ctx, m); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

func (h *Huts) note(ctx context.Context, e HikerSeen) {
	pipe := h.rdb.TxPipeline()
	pipe.HSet(ctx, "hut:"+e.Hut, "last", e.Hiker)
	pipe.HSet(ctx, "hikers", e.Hiker, e.Hut)
	pipe.Exec(ctx)
}

// Closures does the same in a function that queues.
func (h *Huts) Closures(ctx context.Context) error {
	for {
		m, err := h.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		_, err = h.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "last:"+string(m.Key), m.Value, 0)
			return nil
		})
		if err != nil {
			slog.Error("pipeline", "err", err)
		}
		if err := h.r.CommitMessages(ctx, m); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}
