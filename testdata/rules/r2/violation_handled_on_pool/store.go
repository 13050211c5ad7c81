// Package parcels counts delivered parcels per depot.
//
// The mark is a plain INSERT on the pool, and its unique violation is what tells the duplicate.
package parcels

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Delivered struct {
	EventID string `json:"event_id"`
	Depot   string `json:"depot"`
}

type Counter struct {
	pool  *pgxpool.Pool
	redis *redis.Client
}

func (c *Counter) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt Delivered
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	first, err := c.mark(ctx, evt.EventID)
	if err != nil || !first {
		return err
	}
	return c.redis.Incr(ctx, "depot:"+evt.Depot).Err()
}

func (c *Counter) mark(ctx context.Context, id string) (bool, error) {
	_, err := c.pool.Exec(ctx, `INSERT INTO processed_parcel_events (event_id, processed_at) VALUES ($1, now())`, id)
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) && pgErr.Code == "23505" {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("mark %s: %w", id, err)
	}
	return true, nil
}

// Run handles what comes and forgets once an hour.
func (c *Counter) Run(ctx context.Context, client *kgo.Client) error {
	next := time.Now()
	for {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, rec := range fetches.Records() {
			if err := c.Handle(ctx, rec); err != nil {
				return err
			}
		}
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
		if time.Now().After(next) {
			if _, err := c.pool.Exec(ctx, `DELETE FROM processed_parcel_events WHERE processed_at < now() - interval '9 days'`); err != nil {
				return err
			}
			next = next.Add(time.Hour)
		}
	}
}
