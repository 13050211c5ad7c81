// Package hives asks for all marks of a batch in one query before it inserts them: two consumers can both find nothing.
package hives

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"github.com/twmb/franz-go/pkg/kgo"
)

type harvest struct {
	EventID string `json:"event_id"`
	Hive    string `json:"hive"`
	Grams   int64  `json:"grams"`
}

func decode(recs []*kgo.Record) (out []harvest, ids []string, err error) {
	for _, rec := range recs {
		var h harvest
		if err := json.Unmarshal(rec.Value, &h); err != nil {
			return nil, nil, err
		}
		out, ids = append(out, h), append(ids, h.EventID)
	}
	return out, ids, nil
}

const add = `UPDATE hives SET grams = grams + $2 WHERE id = $1`

func BySet(ctx context.Context, db *sqlx.DB, recs []*kgo.Record) error {
	all, ids, err := decode(recs)
	if err != nil {
		return err
	}
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	q, args, err := sqlx.In(`SELECT event_id FROM processed_harvests_inbox WHERE event_id IN (?)`, ids)
	if err != nil {
		return err
	}
	var there []string
	if err := tx.SelectContext(ctx, &there, tx.Rebind(q), args...); err != nil {
		return err
	}
	seen := make(map[string]struct{}, len(there))
	for _, id := range there {
		seen[id] = struct{}{}
	}
	for _, h := range all {
		if _, ok := seen[h.EventID]; ok {
			continue
		}
		if _, err := tx.ExecContext(ctx,
			`INSERT INTO processed_harvests_inbox (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, // want R-KFK-IDEM-2
			h.EventID); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, add, h.Hive, h.Grams); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func ByList(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error {
	all, ids, err := decode(recs)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT event_id FROM processed_harvests_inbox WHERE event_id = ANY($1)`, ids)
		if err != nil {
			return err
		}
		there, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		for _, h := range all {
			if slices.Contains(there, h.EventID) {
				continue
			}
			// The number of marks decides: whoever comes second stops.
			tag, err := tx.Exec(ctx, `INSERT INTO processed_harvests_inbox (event_id) VALUES ($1) ON CONFLICT (event_id) DO NOTHING`, h.EventID)
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				continue
			}
			if _, err := tx.Exec(ctx, add, h.Hive, h.Grams); err != nil {
				return err
			}
		}
		return nil
	})
}

func Sweep(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `DELETE FROM processed_harvests_inbox WHERE at < now() - interval '7 days'`)
	return err
}

func Daily(ctx context.Context, pool *pgxpool.Pool, day <-chan struct{}) {
	for range day {
		_ = Sweep(ctx, pool)
	}
}
