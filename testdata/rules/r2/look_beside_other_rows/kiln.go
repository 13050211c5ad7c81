// Package kiln looks for the event first and marks it last; the row that it reads in between is there for both of two
// consumers.
package kiln

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Fired struct {
	ID    string `json:"id"`
	Kiln  string `json:"kiln"`
	Heat  int    `json:"heat"`
	Batch string `json:"batch_id"`
}

type Kiln struct {
	pool *pgxpool.Pool
	out  *kgo.Client
}

func (k *Kiln) Fire(ctx context.Context, rec *kgo.Record) error {
	var e Fired
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	var done bool
	if err := k.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM processed_events_of_kiln WHERE event_id = $1)`, e.ID).Scan(&done); err != nil || done {
		return err
	}
	return pgx.BeginFunc(ctx, k.pool, func(tx pgx.Tx) error {
		var version int
		if err := tx.QueryRow(ctx, `SELECT version FROM batches WHERE id = $1`, e.ID).Scan(&version); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `UPDATE batches SET heat = $1, version = version + 1 WHERE id = $2 AND version = $3`, e.Heat, e.ID, version)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errors.New("the batch has changed")
		}
		if _, err := tx.Exec(ctx, `INSERT INTO firings (batch) VALUES ($1)`, e.Batch); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO processed_events_of_kiln (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, e.ID) // want R-KFK-IDEM-2
		return err
	})
}

func (k *Kiln) Sweep(ctx context.Context) error {
	_, err := k.pool.Exec(ctx, `DELETE FROM processed_events_of_kiln WHERE processed_at < $1`, time.Now().AddDate(0, 0, -30))
	return err
}

func Main(ctx context.Context, k *Kiln, cl *kgo.Client) {
	go k.Sweep(ctx)
	for {
		cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { _ = k.Fire(ctx, r) })
	}
}
