// Package mills grinds grain. A job that fails is written down as failed, and somebody looks at it.
package mills

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type GrainDelivered struct {
	JobID string `json:"job_id"`
	Kilos int    `json:"kilos"`
}

type Consumer struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var evt GrainDelivered
		if err := json.Unmarshal(msg.Value, &evt); err != nil {
			return err
		}
		if err := c.grind(ctx, evt); err != nil {
			if _, err := c.pool.Exec(ctx, `INSERT INTO failed_jobs (id, reason) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET reason = excluded.reason`, evt.JobID, err.Error()); err != nil {
				return fmt.Errorf("record failure of %s: %w", evt.JobID, err)
			}
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (c *Consumer) grind(ctx context.Context, evt GrainDelivered) error {
	_, err := c.pool.Exec(ctx, `INSERT INTO jobs (id, kilos) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET kilos = excluded.kilos`, evt.JobID, evt.Kilos)
	return err
}
