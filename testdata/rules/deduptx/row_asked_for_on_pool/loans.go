// Package loans looks for the row of the event before it inserts it.
package loans

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Lent struct {
	Loan   string `json:"loan_id"`
	Reader string `json:"reader"`
}

type db interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func known(ctx context.Context, q db, loan string) (bool, error) {
	var id int
	err := q.QueryRow(ctx, `SELECT id FROM loans WHERE loan_id = $1`, loan).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func lend(ctx context.Context, q db, e Lent) error {
	_, err := q.Exec(ctx, `INSERT INTO loans (loan_id, reader) VALUES ($1, $2)`, e.Loan, e.Reader)
	return err
}

func count(ctx context.Context, q db, reader string) error {
	_, err := q.Exec(ctx, `UPDATE readers SET loans = loans + 1 WHERE id = $1`, reader)
	return err
}

type Library struct{ pool *pgxpool.Pool }

// Apart leaves the loan behind when the second statement fails: the next delivery finds it and counts nothing.
func (l *Library) Apart(ctx context.Context, rec *kgo.Record) error {
	var e Lent
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	if there, err := known(ctx, l.pool, e.Loan); err != nil || there {
		return err
	}
	if err := lend(ctx, l.pool, e); err != nil { // want R-KFK-IDEM-3
		return err
	}
	return count(ctx, l.pool, e.Reader)
}

// Together does both or neither.
func (l *Library) Together(ctx context.Context, rec *kgo.Record) error {
	var e Lent
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	if there, err := known(ctx, l.pool, e.Loan); err != nil || there {
		return err
	}
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		if err := lend(ctx, tx, e); err != nil {
			return err
		}
		return count(ctx, tx, e.Reader)
	})
}

// Registers makes sure that the reader is there; whether the loan is, it asks of another row.
func (l *Library) Registers(ctx context.Context, rec *kgo.Record) error {
	var e Lent
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	var id int
	err := l.pool.QueryRow(ctx, `SELECT id FROM cards WHERE reader = $1`, e.Reader).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err = l.pool.Exec(ctx, `INSERT INTO cards (reader) VALUES ($1)`, e.Reader)
	}
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO loans (loan_id, reader) VALUES ($1, $2) ON CONFLICT DO NOTHING`, e.Loan, e.Reader)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return count(ctx, tx, e.Reader)
	})
}
