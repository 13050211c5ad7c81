// Package tolls books tolls. The plain INSERT has a savepoint of its own, so its violation leaves the transaction usable.
package tolls

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

const insertMark = `INSERT INTO toll_inbox (message_id, seen_at) VALUES ($1, $2)`

type Passed struct {
	MessageID string `json:"message_id"`
	Plate     string `json:"plate"`
	Cents     int64  `json:"cents"`
}

type Booker struct{ pool *pgxpool.Pool }

func (b *Booker) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt Passed
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		known, err := seen(ctx, tx, evt.MessageID)
		if err != nil || known {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO tolls (plate, cents) VALUES ($1, $2)`, evt.Plate, evt.Cents)
		return err
	})
}

func seen(ctx context.Context, tx pgx.Tx, id string) (bool, error) {
	sp, err := tx.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer sp.Rollback(ctx)
	if _, err := sp.Exec(ctx, insertMark, id, time.Now()); err != nil {
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Code == "23505" {
			return true, nil
		}
		return false, err
	}
	return false, sp.Commit(ctx)
}

// Sweep is the entry of the nightly job.
func Sweep(ctx context.Context, pool *pgxpool.Pool) error { return forget(ctx, pool) }

func forget(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `DELETE FROM toll_inbox WHERE seen_at < now() - interval '30 days'`)
	return err
}
