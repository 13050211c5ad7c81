// Package turnstiles counts visitors with a builder's text, and counts a delivery as often as it comes.
package turnstiles

import (
	"context"
	"database/sql"
	"encoding/json"

	sq "github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type visit struct {
	EventID string `json:"event_id"`
	Gate    string `json:"gate"`
	People  int64  `json:"people"`
}

func decode(rec *kgo.Record) (visit, error) {
	var v visit
	err := json.Unmarshal(rec.Value, &v)
	return v, err
}

func Count(ctx context.Context, pool *pgxpool.Pool, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	v, err := decode(rec)
	if err != nil {
		return err
	}
	q, args, err := sq.Update("gates").Set("people", sq.Expr("people + ?", v.People)).Where("id = ?", v.Gate).
		PlaceholderFormat(sq.Dollar).ToSql()
	if err != nil {
		return err
	}
	_, err = pool.Exec(ctx, q, args...)
	return err
}

func Note(ctx context.Context, db *sql.DB, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	v, err := decode(rec)
	if err != nil {
		return err
	}
	q, args := sq.Insert("visits").Columns("gate", "people").Values(v.Gate, v.People).MustSql()
	_, err = db.ExecContext(ctx, q, args...)
	return err
}

func Close(ctx context.Context, pool *pgxpool.Pool, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	v, err := decode(rec)
	if err != nil {
		return err
	}
	// The state is set, but which one it leaves is not asked: the count goes up again.
	b := sq.Update("gates").SetMap(map[string]any{"closed": true, "closings": sq.Expr("closings + 1")})
	return exec(ctx, pool, b.Where(sq.Eq{"id": v.Gate}))
}

// Ignored marks, and goes on whatever the mark says.
func Ignored(ctx context.Context, pool *pgxpool.Pool, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	v, err := decode(rec)
	if err != nil {
		return err
	}
	q, args, err := sq.Insert("gate_openings").Columns("event_id").Values(v.EventID).Suffix("ON CONFLICT DO NOTHING").ToSql()
	if err != nil {
		return err
	}
	if _, err := pool.Exec(ctx, q, args...); err != nil {
		return err
	}
	return exec(ctx, pool, sq.Insert("visits").Columns("gate").Values(v.Gate))
}

// Rows inserts the visits of a batch as they came.
func Rows(ctx context.Context, db *sql.DB, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	b := sq.Insert("visits").Columns("gate", "people")
	for _, rec := range recs {
		v, err := decode(rec)
		if err != nil {
			return err
		}
		b = b.Values(v.Gate, v.People)
	}
	_, err := b.RunWith(db).ExecContext(ctx)
	return err
}

func exec(ctx context.Context, pool *pgxpool.Pool, stmt sq.Sqlizer) error {
	q, args, err := stmt.ToSql()
	if err != nil {
		return err
	}
	_, err = pool.Exec(ctx, q, args...)
	return err
}
