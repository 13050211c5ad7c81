// Package unit runs functions in a transaction that it keeps in the context, and joins the one that is there.
package unit

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/segmentio/kafka-go"
)

type txKey struct{}

// Work is a unit of work.
type Work struct{ db *sql.DB }

// Do runs fn in the transaction of the context, or in one of its own.
func (u *Work) Do(ctx context.Context, fn func(context.Context) error) error {
	if _, ok := ctx.Value(txKey{}).(*sql.Tx); ok {
		return fn(ctx)
	}
	tx, err := u.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(context.WithValue(ctx, txKey{}, tx)); err != nil {
		return err
	}
	return tx.Commit()
}

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func (u *Work) conn(ctx context.Context) execer {
	if tx, ok := ctx.Value(txKey{}).(*sql.Tx); ok {
		return tx
	}
	return u.db
}

type seedling struct {
	ID  string `json:"id"`
	Bed int64  `json:"bed"`
}

// Run plants what was ordered.
func Run(ctx context.Context, r *kafka.Reader, u *Work) error {
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var s seedling
		if err := json.Unmarshal(msg.Value, &s); err != nil {
			return err
		}
		err = u.Do(ctx, func(ctx context.Context) error {
			res, err := u.conn(ctx).ExecContext(ctx, `INSERT INTO processed_seedlings (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, s.ID)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return err
			}
			_, err = u.conn(ctx).ExecContext(ctx, `UPDATE beds SET seedlings = seedlings + 1 WHERE bed = $1`, s.Bed)
			return err
		})
		if err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
