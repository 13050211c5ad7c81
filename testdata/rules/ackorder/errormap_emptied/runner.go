// Package errormap_emptied takes what failed out of the map again and acknowledges.
package errormap_emptied

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Runner struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

func (r *Runner) Run(ctx context.Context) error {
	for {
		batch, err := r.fetch(ctx)
		if err != nil {
			return err
		}
		failed := make(map[int]error)
		for _, m := range batch {
			if err := r.ship(ctx, m); err != nil {
				failed[m.Partition] = err
			}
		}
		for partition := range failed {
			delete(failed, partition)
		}
		if len(failed) != 0 {
			return fmt.Errorf("not shipped: %v", failed)
		}
		if err := r.reader.CommitMessages(ctx, batch...); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

func (r *Runner) fetch(ctx context.Context) ([]kafka.Message, error) {
	var batch []kafka.Message
	for len(batch) < 50 {
		m, err := r.reader.FetchMessage(ctx)
		if err != nil {
			return nil, err
		}
		batch = append(batch, m)
	}
	return batch, nil
}

func (r *Runner) ship(ctx context.Context, m kafka.Message) error {
	return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, string(m.Key))
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO shipment (parcel) VALUES ($1)`, string(m.Value))
		return err
	})
}
