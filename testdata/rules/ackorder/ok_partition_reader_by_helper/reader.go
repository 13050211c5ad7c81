// Package seismo follows one partition. The helper that makes readers is told no group.
package seismo

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Quake struct {
	Station string  `json:"station"`
	Force   float64 `json:"force"`
}

func reader(topic, group string, partition int) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{Brokers: []string{"localhost:9092"}, Topic: topic, GroupID: group, Partition: partition})
}

func Follow(ctx context.Context, pool *pgxpool.Pool) error {
	r := reader("quakes", "", 3)
	defer r.Close()
	for {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			return err
		}
		var q Quake
		if err := json.Unmarshal(m.Value, &q); err != nil {
			return err
		}
		if _, err := pool.Exec(ctx, `INSERT INTO quakes (station, force) VALUES ($1, $2) ON CONFLICT (station) DO UPDATE SET force = excluded.force`, q.Station, q.Force); err != nil {
			return err
		}
	}
}
