// Package barges lists barges. The batch is committed before it is worked on.
package barges

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type BargeSeen struct {
	Barge string `json:"barge"`
	Lock  string `json:"lock"`
}

type Batcher struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

func (b *Batcher) Run(ctx context.Context) error {
	for {
		batch := make([]kafka.Message, 0, 100)
		for len(batch) < 100 {
			msg, err := b.reader.FetchMessage(ctx)
			if err != nil {
				return err
			}
			batch = append(batch, msg)
		}
		if err := b.reader.CommitMessages(ctx, batch...); err != nil { // want R-KFK-IDEM-3
			return err
		}
		for _, msg := range batch {
			if err := b.store(ctx, msg); err != nil {
				return err
			}
		}
	}
}

func (b *Batcher) store(ctx context.Context, msg kafka.Message) error {
	var evt BargeSeen
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	_, err := b.pool.Exec(ctx, `INSERT INTO barges (id, lock) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET lock = excluded.lock`, evt.Barge, evt.Lock)
	return err
}
