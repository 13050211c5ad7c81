// Package ferries writes its statements with a builder and hands their text to the driver.
package ferries

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/smtp"

	sq "github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type crossing struct {
	EventID string `json:"event_id"`
	Ferry   string `json:"ferry"`
	Cars    int64  `json:"cars"`
}

func decode(rec *kgo.Record) (crossing, error) {
	var c crossing
	err := json.Unmarshal(rec.Value, &c)
	return c, err
}

var psql = sq.StatementBuilder.PlaceholderFormat(sq.Dollar)

type ByDriver struct{ db *sql.DB }

// Announce marks first; the mark's own count decides.
func (h *ByDriver) Announce(ctx context.Context, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	q, args, err := sq.Insert("received_messages").Columns("event_id", "ferry").Values(c.EventID, c.Ferry).
		Suffix("ON CONFLICT DO NOTHING").PlaceholderFormat(sq.Dollar).ToSql()
	if err != nil {
		return err
	}
	res, err := h.db.ExecContext(ctx, q, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	return smtp.SendMail("mx", nil, "harbour@example.com", []string{c.Ferry}, nil)
}

// Sail looks first, with a builder's text.
func (h *ByDriver) Sail(ctx context.Context, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	q, args := psql.Select("count(*)").From("received_messages").Where(sq.Eq{"event_id": c.EventID}).MustSql()
	var n int
	if err := h.db.QueryRowContext(ctx, q, args...).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return nil
	}
	return smtp.SendMail("mx", nil, "harbour@example.com", []string{c.Ferry}, nil)
}

type ByPool struct{ pool *pgxpool.Pool }

// Book inserts the business row that is unique on the event.
func (h *ByPool) Book(ctx context.Context, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	q, args, err := psql.Insert("bookings").SetMap(map[string]any{"event_id": c.EventID, "ferry": c.Ferry}).
		Suffix("ON CONFLICT (event_id) DO NOTHING RETURNING ferry").ToSql()
	if err != nil {
		return err
	}
	var ferry string
	if err := h.pool.QueryRow(ctx, q, args...).Scan(&ferry); errors.Is(err, pgx.ErrNoRows) {
		return nil
	} else if err != nil {
		return err
	}
	return smtp.SendMail("mx", nil, "harbour@example.com", []string{ferry}, nil)
}

// Depart leaves a state: a repeat finds it left.
func (h *ByPool) Depart(ctx context.Context, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	q, args, err := sq.Update("ferries").Set("status", "at sea").Where(sq.Eq{"id": c.Ferry, "status": "moored"}).
		PlaceholderFormat(sq.Dollar).ToSql()
	if err != nil {
		return err
	}
	tag, err := h.pool.Exec(ctx, q, args...)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	return smtp.SendMail("mx", nil, "harbour@example.com", []string{c.Ferry}, nil)
}

// Rename lands on the same state.
func (h *ByPool) Rename(ctx context.Context, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	return run(ctx, h.pool, psql.Update("ferries").SetMap(map[string]any{"captain": c.Ferry}).Where(sq.Eq{"id": c.Ferry}))
}

// Load counts cars once: mark and count go through one helper.
func (h *ByPool) Load(ctx context.Context, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		n, err := count(ctx, tx, psql.Insert("received_messages").Columns("event_id").Values(c.EventID).Suffix("ON CONFLICT DO NOTHING"))
		if err != nil || n == 0 {
			return err
		}
		_, err = count(ctx, tx, psql.Update("ferries").Set("cars", sq.Expr("cars + ?", c.Cars)).Where(sq.Eq{"id": c.Ferry}))
		return err
	})
}

// Forget removes what is old.
func (h *ByPool) Forget(ctx context.Context, days int) error {
	return run(ctx, h.pool, psql.Delete("received_messages").Where("received_at < now() - make_interval(days => ?)", days))
}

func count(ctx context.Context, tx pgx.Tx, stmt sq.Sqlizer) (int64, error) {
	q, args, err := stmt.ToSql()
	if err != nil {
		return 0, err
	}
	t, err := tx.Exec(ctx, q, args...)
	return t.RowsAffected(), err
}

func run(ctx context.Context, pool *pgxpool.Pool, stmt sq.Sqlizer) error {
	q, args, err := stmt.ToSql()
	if err != nil {
		return err
	}
	_, err = pool.Exec(ctx, q, args...)
	return err
}

// LoadAll marks a batch, and stores what the marks return: an INSERT of no rows is an error of the builder.
func (h *ByPool) LoadAll(ctx context.Context, recs []*kgo.Record) error {
	return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		mark := psql.Insert("received_messages").Columns("event_id")
		var all []crossing
		for _, rec := range recs {
			c, err := decode(rec)
			if err != nil {
				return err
			}
			mark, all = mark.Values(c.EventID), append(all, c)
		}
		q, args, err := mark.Suffix("ON CONFLICT DO NOTHING RETURNING event_id").ToSql()
		if err != nil {
			return err
		}
		rows, err := tx.Query(ctx, q, args...)
		if err != nil {
			return err
		}
		fresh := make(map[string]bool)
		var id string
		if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { fresh[id] = true; return nil }); err != nil {
			return err
		}
		loads := psql.Insert("loads").Columns("ferry", "cars")
		for _, c := range all {
			if fresh[c.EventID] {
				loads = loads.Values(c.Ferry, c.Cars)
			}
		}
		_, err = count(ctx, tx, loads)
		return err
	})
}
