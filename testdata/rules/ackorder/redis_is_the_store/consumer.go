// Package scores keeps scores in Redis, and nowhere else. A score that was not set is lost.
package scores

import (
	"context"
	"encoding/json"
	"log"

	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Scored struct {
	Player string `json:"player"`
	Points int    `json:"points"`
}

type Consumer struct {
	cl  *kgo.Client
	rdb *redis.Client
}

func (c *Consumer) Run(ctx context.Context) {
	for ctx.Err() == nil {
		fs := c.cl.PollFetches(ctx)
		fs.EachRecord(func(rec *kgo.Record) { c.keep(ctx, rec) })
		if err := c.cl.CommitUncommittedOffsets(ctx); err != nil { // want R-KFK-IDEM-3
			log.Println(err)
		}
	}
}

func (c *Consumer) keep(ctx context.Context, rec *kgo.Record) {
	var evt Scored
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		log.Println("undecodable", err)
		return
	}
	if err := c.rdb.Set(ctx, "score:"+evt.Player, evt.Points, 0).Err(); err != nil {
		log.Println("score not kept", err)
	}
}
