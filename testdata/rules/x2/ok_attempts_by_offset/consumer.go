// Package attempts counts attempts by the place in the log, which is what a retry counter is about.
package attempts

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Consumer struct {
	r     *kafka.Reader
	pool  *pgxpool.Pool
	tries map[string]int
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		m, err := c.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		at := fmt.Sprintf("%s-%d-%d", m.Topic, m.Partition, m.Offset)
		for c.tries[at] < 3 {
			c.tries[at]++
			if err = c.apply(ctx, m); err == nil {
				break
			}
		}
		if err != nil {
			return err
		}
		delete(c.tries, at)
		if err := c.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (c *Consumer) apply(ctx context.Context, m kafka.Message) error {
	var s struct {
		Sensor string  `json:"sensor"`
		Value  float64 `json:"value"`
	}
	if err := json.Unmarshal(m.Value, &s); err != nil {
		return err
	}
	_, err := c.pool.Exec(ctx, `UPDATE sensors SET value = $2 WHERE name = $1`, s.Sensor, s.Value)
	return err
}
