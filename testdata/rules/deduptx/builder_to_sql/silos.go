// Package silos marks on the pool with a builder's text, and weighs in a transaction of its own.
package silos

import (
	"context"
	"encoding/json"

	sq "github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type load struct {
	EventID string `json:"event_id"`
	Silo    string `json:"silo"`
	Kilos   int64  `json:"kilos"`
}

type Store struct{ pool *pgxpool.Pool }

func Open(ctx context.Context, pool *pgxpool.Pool) (*Store, error) {
	s := &Store{pool}
	return s, s.Sweep(ctx)
}

func (s *Store) Weigh(ctx context.Context, rec *kgo.Record) error {
	var l load
	if err := json.Unmarshal(rec.Value, &l); err != nil {
		return err
	}
	q, args, err := sq.Insert("processed_loads_inbox").Columns("event_id").Values(l.EventID).
		Suffix("ON CONFLICT DO NOTHING").PlaceholderFormat(sq.Dollar).ToSql()
	if err != nil {
		return err
	}
	tag, err := s.pool.Exec(ctx, q, args...) // want R-KFK-IDEM-3
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		q, args, err := sq.Update("silos").Set("kilos", sq.Expr("kilos + ?", l.Kilos)).Where(sq.Eq{"id": l.Silo}).
			PlaceholderFormat(sq.Dollar).ToSql()
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, q, args...)
		return err
	})
}

func (s *Store) Sweep(ctx context.Context) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM processed_loads_inbox WHERE at < now() - interval '30 days'`)
	return err
}
