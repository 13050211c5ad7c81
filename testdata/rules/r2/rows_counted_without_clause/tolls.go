// Package tolls counts the rows of its marks, and lets the database fail on a repeat before there are any to count. Where
// zero rows already stop the work, the clause can be added and nothing else has to change.
package tolls

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type passage struct {
	EventID string `json:"event_id"`
	Gate    string `json:"gate"`
}

func decode(rec *kgo.Record) (p passage, err error) {
	err = json.Unmarshal(rec.Value, &p)
	return p, err
}

const count = `UPDATE gates SET passages = passages + 1 WHERE name = $1`

type Pool struct{ pool *pgxpool.Pool }

// OnPassage stops at zero rows. It has a fix.
func (s *Pool) OnPassage(ctx context.Context, rec *kgo.Record) error {
	p, err := decode(rec)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO processed_toll_events (event_id) VALUES ($1)", p.EventID) // want R-KFK-IDEM-2
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			slog.InfoContext(ctx, "seen before", "gate", p.Gate)
			return nil
		}
		_, err = tx.Exec(ctx, count, p.Gate)
		return err
	})
}

// first tells its caller. It has a fix.
func first(ctx context.Context, tx pgx.Tx, id string) (bool, error) {
	// want-below R-KFK-IDEM-2
	tag, err := tx.Exec(ctx, `
		INSERT INTO processed_toll_events (event_id)
		VALUES ($1);
	`, id)
	return tag.RowsAffected() == 1, err
}

// OnReturn asks first.
func (s *Pool) OnReturn(ctx context.Context, rec *kgo.Record) error {
	p, err := decode(rec)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if ok, err := first(ctx, tx, p.EventID); err != nil || !ok {
			return err
		}
		_, err = tx.Exec(ctx, count, p.Gate)
		return err
	})
}

// OnNoted notes the repeat and goes on: zero rows would not stop it, the error does.
func (s *Pool) OnNoted(ctx context.Context, rec *kgo.Record) error {
	p, err := decode(rec)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_toll_events (event_id) VALUES ($1)`, p.EventID) // want R-KFK-IDEM-2
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			slog.WarnContext(ctx, "no row")
		}
		_, err = tx.Exec(ctx, count, p.Gate)
		return err
	})
}

// mark returns nothing by which its caller could tell zero rows.
func mark(ctx context.Context, tx pgx.Tx, id string) error {
	tag, err := tx.Exec(ctx, `INSERT INTO processed_toll_events (event_id) VALUES ($1)`, id) // want R-KFK-IDEM-2
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	slog.InfoContext(ctx, "marked", "id", id)
	return nil
}

// OnMarked relies on the error of mark.
func (s *Pool) OnMarked(ctx context.Context, rec *kgo.Record) error {
	p, err := decode(rec)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if err := mark(ctx, tx, p.EventID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, count, p.Gate)
		return err
	})
}

type DB struct{ db *sql.DB }

var errNoRow = errors.New("no row")

// OnPassage counts by database/sql. It has a fix.
func (s *DB) OnPassage(ctx context.Context, rec *kgo.Record) error {
	p, err := decode(rec)
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_toll_events (event_id) VALUES ($1)`, p.EventID) // want R-KFK-IDEM-2
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n != 1 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, count, p.Gate); err != nil {
		return err
	}
	return tx.Commit()
}

// OnStrange has a literal that ends in a comment, behind which a clause would be none. It has a fix.
func (s *DB) OnStrange(ctx context.Context, rec *kgo.Record) error {
	p, err := decode(rec)
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_toll_events (event_id) VALUES ($1) -- once`, p.EventID) // want R-KFK-IDEM-2
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errNoRow
	}
	if _, err := tx.ExecContext(ctx, count, p.Gate); err != nil {
		return err
	}
	return tx.Commit()
}

// OnLate counts the passage before it asks: zero rows would undo it only because of the error.
func (s *DB) OnLate(ctx context.Context, rec *kgo.Record) error {
	p, err := decode(rec)
	if err != nil {
		return err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_toll_events (event_id) VALUES ($1)`, p.EventID) // want R-KFK-IDEM-2
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, count, p.Gate); err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errNoRow
	}
	_, err = tx.ExecContext(ctx, count, p.Gate)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// Serve keeps the table small while it runs.
func Serve(ctx context.Context, pool *pgxpool.Pool) error { return purge(ctx, pool) }

func purge(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `DELETE FROM processed_toll_events WHERE processed_at < now() - interval '30 days'`)
	return err
}
