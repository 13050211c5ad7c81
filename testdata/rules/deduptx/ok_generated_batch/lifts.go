// Package lifts marks a batch by a generated method that tells a function what came of each mark.
package lifts

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/fixtures/deduptx/ok_generated_batch/db"
)

type ride struct {
	EventID string `json:"event_id"`
	Lift    string `json:"lift"`
}

func Count(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error {
	var all []ride
	var ids []string
	for _, rec := range recs {
		var r ride
		if err := json.Unmarshal(rec.Value, &r); err != nil {
			return err
		}
		all, ids = append(all, r), append(ids, r.EventID)
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		q := db.New(pool).WithTx(tx)
		fresh := make(map[string]bool)
		var failed error
		q.MarkRides(ctx, ids).QueryRow(func(_ int, id string, err error) {
			switch {
			case err == nil:
				fresh[id] = true
			case !errors.Is(err, pgx.ErrNoRows):
				failed = err
			}
		})
		if failed != nil {
			return failed
		}
		for _, r := range all {
			if !fresh[r.EventID] {
				continue
			}
			if err := q.CountRide(ctx, r.Lift); err != nil {
				return err
			}
		}
		return nil
	})
}

func Daily(ctx context.Context, pool *pgxpool.Pool) error { return db.New(pool).Sweep(ctx) }
