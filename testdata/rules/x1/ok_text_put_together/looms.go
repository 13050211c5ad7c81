// Package looms marks with statements that are put together from pieces, or kept somewhere else.
package looms

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/twmb/franz-go/pkg/kgo"
)

type cloth struct {
	EventID string `json:"event_id" db:"event_id"`
	Loom    string `json:"loom" db:"loom"`
	Metres  int64  `json:"metres" db:"metres"`
}

func decode(rec *kgo.Record) (c cloth, err error) {
	err = json.Unmarshal(rec.Value, &c)
	return c, err
}

const weave = "UPDATE looms SET metres = metres + $2 WHERE id = $1"

// inTx runs what follows the mark.
func inTx(ctx context.Context, db *sql.DB, c cloth, mark func(*sql.Tx) (sql.Result, error)) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := mark(tx)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, weave, c.Loom, c.Metres); err != nil {
		return err
	}
	return tx.Commit()
}

func Pieces(ctx context.Context, db *sql.DB, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	return inTx(ctx, db, c, func(tx *sql.Tx) (sql.Result, error) {
		var b strings.Builder
		b.WriteString("INSERT INTO ")
		b.WriteString("received_messages")
		fmt.Fprintf(&b, " (%s) VALUES ($1)", "message_id")
		b.WriteString(" ON CONFLICT DO NOTHING")
		return tx.ExecContext(ctx, b.String(), c.EventID)
	})
}

var statements = map[string]string{
	"mark": "INSERT INTO received_messages (message_id) VALUES ($1) ON CONFLICT DO NOTHING",
	"stop": "UPDATE looms SET running = false WHERE id = $1",
}

func ByName(ctx context.Context, db *sql.DB, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	return inTx(ctx, db, c, func(tx *sql.Tx) (sql.Result, error) {
		return tx.ExecContext(ctx, statements["mark"], c.EventID)
	})
}

var queries = struct{ mark, stop string }{
	mark: "INSERT INTO received_messages (message_id) VALUES ($1) ON CONFLICT DO NOTHING",
	stop: "UPDATE looms SET running = false WHERE id = $1",
}

func ByField(ctx context.Context, db *sql.DB, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	return inTx(ctx, db, c, func(tx *sql.Tx) (sql.Result, error) {
		return tx.ExecContext(ctx, queries.mark, c.EventID)
	})
}

func ByStruct(ctx context.Context, db *sqlx.DB, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	return inTx(ctx, db.DB, c, func(tx *sql.Tx) (sql.Result, error) {
		q, args, err := sqlx.Named("INSERT INTO received_messages (message_id) VALUES (:event_id) ON CONFLICT DO NOTHING", c)
		if err != nil {
			return nil, err
		}
		return tx.ExecContext(ctx, db.Rebind(q), args...)
	})
}

// Stop lands on the same state, whichever text it is that sets it.
func Stop(ctx context.Context, db *sql.DB, rec *kgo.Record) error {
	c, err := decode(rec)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, statements["stop"], c.Loom); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, queries.stop, c.Loom)
	return err
}

func Sweep(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "DELETE FROM received_messages WHERE at < now() - interval '7 days'")
	return err
}
