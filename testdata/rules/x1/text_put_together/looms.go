// Package looms puts its statements together from pieces, or keeps them somewhere else: what they do can be seen.
package looms

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/twmb/franz-go/pkg/kgo"
)

type cloth struct {
	EventID string   `json:"event_id"`
	Loom    string   `json:"loom"`
	Metres  int64    `json:"metres"`
	Colours []string `json:"colours"`
}

func decode(rec *kgo.Record) (c cloth, err error) {
	err = json.Unmarshal(rec.Value, &c)
	return c, err
}

func Colours(ctx context.Context, db *sql.DB, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	c, err := decode(rec)
	if err != nil {
		return err
	}
	var b strings.Builder
	var args []any
	b.WriteString("INSERT INTO threads (loom, colour) VALUES ")
	for i, colour := range c.Colours {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "($%d, $%d)", 2*i+1, 2*i+2)
		args = append(args, c.Loom, colour)
	}
	_, err = db.ExecContext(ctx, b.String(), args...)
	return err
}

func Trimmed(ctx context.Context, db *sql.DB, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	c, err := decode(rec)
	if err != nil {
		return err
	}
	b := bytes.NewBuffer(nil)
	b.WriteString("INSERT INTO threads (loom, colour) VALUES ")
	var args []any
	for _, colour := range c.Colours {
		b.WriteString("(?, ?),")
		args = append(args, c.Loom, colour)
	}
	_, err = db.ExecContext(ctx, strings.TrimSuffix(b.String(), ","), args...)
	return err
}

func Cut(ctx context.Context, db *sql.DB, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	c, err := decode(rec)
	if err != nil {
		return err
	}
	q := "INSERT INTO threads (loom, colour) VALUES "
	var args []any
	for _, colour := range c.Colours {
		q += "(?, ?),"
		args = append(args, c.Loom, colour)
	}
	_, err = db.ExecContext(ctx, q[:len(q)-1], args...)
	return err
}

var statements = map[string]string{
	"weave": "UPDATE looms SET metres = metres + $2 WHERE id = $1",
	"stop":  "UPDATE looms SET running = false WHERE id = $1",
}

func ByName(ctx context.Context, db *sql.DB, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	c, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statements["weave"], c.Loom, c.Metres)
	return err
}

type dialect struct{ weave, stop string }

func postgres() dialect {
	return dialect{
		weave: "UPDATE looms SET metres = metres + $2 WHERE id = $1",
		stop:  "UPDATE looms SET running = false WHERE id = $1",
	}
}

type Store struct {
	db *sqlx.DB
	q  dialect
}

func Open(db *sqlx.DB) *Store { return &Store{db: db, q: postgres()} }

func (s *Store) ByField(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	c, err := decode(rec)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, s.q.weave, c.Loom, c.Metres)
	return err
}

func (s *Store) ByList(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	c, err := decode(rec)
	if err != nil {
		return err
	}
	q, args, err := sqlx.In("UPDATE colours SET used = used + 1 WHERE name IN (?)", c.Colours)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, s.db.Rebind(q), args...)
	return err
}
