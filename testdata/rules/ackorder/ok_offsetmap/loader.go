// Package ok_offsetmap commits the offsets that it has gathered, and gathers none of a record that failed.
package ok_offsetmap

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Loader struct {
	client *kgo.Client
	pool   *pgxpool.Pool
}

func (l *Loader) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		fetches := l.client.PollFetches(ctx)
		next := make(map[string]map[int32]kgo.EpochOffset)
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, rec := range p.Records {
				if err := l.book(ctx, rec); err != nil {
					slog.Error("not booked", "offset", rec.Offset, "error", err)
					return
				}
				if next[rec.Topic] == nil {
					next[rec.Topic] = make(map[int32]kgo.EpochOffset)
				}
				next[rec.Topic][rec.Partition] = kgo.EpochOffset{Epoch: rec.LeaderEpoch, Offset: rec.Offset + 1}
			}
		})
		l.client.CommitOffsetsSync(ctx, next, nil)
	}
	return ctx.Err()
}

func (l *Loader) book(ctx context.Context, rec *kgo.Record) error {
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, string(rec.Key))
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE stock SET amount = amount - 1 WHERE sku = $1`, string(rec.Value))
		return err
	})
}
