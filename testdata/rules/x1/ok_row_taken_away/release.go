// Package release takes a reservation away and says so, in one transaction: a repeat finds none.
package release

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type failed struct {
	Booking string `json:"booking"`
}

// Desk keeps reservations.
type Desk struct{ pool *pgxpool.Pool }

// Run releases what failed.
func (d *Desk) Run(ctx context.Context, cl *kgo.Client) error {
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for rec := range fetches.RecordsAll() {
			if err := d.release(ctx, rec); err != nil {
				return err
			}
		}
	}
}

func (d *Desk) release(ctx context.Context, rec *kgo.Record) error {
	var f failed
	if err := json.Unmarshal(rec.Value, &f); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, `SELECT id FROM reservations WHERE booking = $1 FOR UPDATE`, f.Booking).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM reservations WHERE id = $1`, id); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO outbox (key, payload) VALUES ($1, $2)`, f.Booking, rec.Value)
		return err
	})
}
