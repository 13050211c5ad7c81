// Package audit keeps an upserted row; the offset goes into logs and the dead letter only.
package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Consumer struct {
	cl   *kgo.Client
	pool *pgxpool.Pool
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		fs := c.cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return err
		}
		for _, rec := range fs.Records() {
			slog.Debug("record", "at", fmt.Sprintf("%s/%d@%d", rec.Topic, rec.Partition, rec.Offset))
			if err := c.apply(ctx, rec); err != nil {
				if err := c.deadLetter(ctx, rec, err); err != nil {
					return err
				}
			}
		}
		if err := c.cl.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (c *Consumer) apply(ctx context.Context, rec *kgo.Record) error {
	var row struct {
		ID   int64  `json:"id"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(rec.Value, &row); err != nil {
		return err
	}
	_, err := c.pool.Exec(ctx, `INSERT INTO notes (id, text) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET text = EXCLUDED.text`, row.ID, row.Text)
	return err
}

func (c *Consumer) deadLetter(ctx context.Context, rec *kgo.Record, cause error) error {
	return c.cl.ProduceSync(ctx, &kgo.Record{
		Topic: rec.Topic + ".dlq", Key: rec.Key, Value: rec.Value,
		Headers: []kgo.RecordHeader{
			{Key: "origin-offset", Value: strconv.AppendInt(nil, rec.Offset, 10)},
			{Key: "error", Value: []byte(cause.Error())},
		},
	}).FirstErr()
}
