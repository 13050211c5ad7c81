// Package berths writes its SQL with squirrel and hands the texts to the driver.
package berths

import (
	"context"
	"database/sql"
	"encoding/json"

	sq "github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Moored struct {
	EventID string `json:"event_id"`
	Berth   string `json:"berth"`
	Hours   int    `json:"hours"`
}

func decode(rec *kgo.Record) (e Moored, err error) {
	err = json.Unmarshal(rec.Value, &e)
	return e, err
}

var psql = sq.StatementBuilder.PlaceholderFormat(sq.Dollar)

type Port struct {
	pool *pgxpool.Pool
	db   *sql.DB
}

// Add adds, by an expression.
func (p *Port) Add(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	text, args, err := psql.Update("berths").Set("hours", sq.Expr("hours + ?", e.Hours)).Where(sq.Eq{"name": e.Berth}).ToSql()
	if err != nil {
		return err
	}
	_, err = p.pool.Exec(ctx, text, args...)
	return err
}

// AddOnce marks first, in the same transaction.
func (p *Port) AddOnce(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		text, args, err := psql.Insert("inbox_moorings").Columns("event_id").Values(e.EventID).Suffix("ON CONFLICT DO NOTHING").ToSql()
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, text, args...)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		text, args = psql.Update("berths").Set("hours", sq.Expr("hours + ?", e.Hours)).Where("name = ?", e.Berth).MustSql()
		_, err = tx.Exec(ctx, text, args...)
		return err
	})
}

// Map sets what the event says.
func (p *Port) Map(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = sq.Update("berths").SetMap(map[string]any{"hours": e.Hours, "free": false}).Where(sq.Eq{"name": e.Berth}).RunWith(p.db).ExecContext(ctx)
	return err
}

// MapAdds sets one column to more than it was.
func (p *Port) MapAdds(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = sq.Update("berths").SetMap(map[string]any{"hours": sq.Expr("hours + ?", e.Hours), "free": false}).Where(sq.Eq{"name": e.Berth}).RunWith(p.db).ExecContext(ctx)
	return err
}

// ReadAdd reads with squirrel, too.
func (p *Port) ReadAdd(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var hours int
	if err := psql.Select("hours").From("berths").Where(sq.Eq{"name": e.Berth}).RunWith(p.db).QueryRowContext(ctx).Scan(&hours); err != nil {
		return err
	}
	_, err = psql.Update("berths").Set("hours", hours+e.Hours).Where(sq.Eq{"name": e.Berth}).RunWith(p.db).ExecContext(ctx)
	return err
}

// Sweep keeps the marks small.
func (p *Port) Sweep(ctx context.Context) error {
	_, err := p.pool.Exec(ctx, `DELETE FROM inbox_moorings WHERE received_at < now() - interval '30 days'`)
	return err
}

func Main(ctx context.Context, p *Port) { go p.Sweep(ctx) }
