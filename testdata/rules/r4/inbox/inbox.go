// Package inbox hands each event of a topic to a function once, in a transaction.
package inbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

// Event is what has an id.
type Event interface{ Key() string }

// Listen calls fn for every event that was not processed before.
func Listen[T Event](ctx context.Context, r *kafka.Reader, pool *pgxpool.Pool, fn func(context.Context, T) error) error {
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var evt T
		if err := json.Unmarshal(m.Value, &evt); err != nil {
			return fmt.Errorf("decode: %w", err)
		}
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.Key())
			if err != nil || tag.RowsAffected() == 0 {
				return err
			}
			return fn(ctx, evt)
		})
		if err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

// Purge forgets old events.
func Purge(ctx context.Context, pool *pgxpool.Pool, before time.Time) error {
	_, err := pool.Exec(ctx, `DELETE FROM processed_event WHERE processed_at < $1`, before)
	return err
}
