// Package silo reads what is in a silo, adds to it, and writes it back.
package silo

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Delivered struct {
	Silo string `json:"silo"`
	Tons int    `json:"tons"`
	Note string `json:"note"`
}

func decode(rec *kgo.Record) (e Delivered, err error) {
	err = json.Unmarshal(rec.Value, &e)
	return e, err
}

type Farm struct {
	db   *sql.DB
	pool *pgxpool.Pool
	x    *sqlx.DB
}

func (f *Farm) Plain(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var tons int
	if err := f.db.QueryRowContext(ctx, `SELECT tons FROM silos WHERE name = $1 FOR UPDATE`, e.Silo).Scan(&tons); err != nil {
		return err
	}
	_, err = f.db.ExecContext(ctx, `UPDATE silos SET tons = $2 WHERE name = $1`, e.Silo, tons+e.Tons)
	return err
}

// Silo is an entity with a method of its own.
type Silo struct {
	ID    int64
	Name  string
	Tons  int
	Notes string
}

func (s *Silo) Take(tons int) { s.Tons += tons }

func (f *Farm) find(ctx context.Context, name string) (*Silo, error) {
	s := &Silo{}
	err := f.pool.QueryRow(ctx, `SELECT id, name, tons, notes FROM silos WHERE name = $1`, name).Scan(&s.ID, &s.Name, &s.Tons, &s.Notes)
	return s, err
}

func (f *Farm) save(ctx context.Context, s *Silo) error {
	_, err := f.pool.Exec(ctx, `INSERT INTO silos (id, name, tons, notes) VALUES ($1, $2, $3, $4)
		ON CONFLICT (id) DO UPDATE SET tons = EXCLUDED.tons, notes = EXCLUDED.notes`, s.ID, s.Name, s.Tons, s.Notes)
	return err
}

func (f *Farm) Entity(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	s, err := f.find(ctx, e.Silo)
	if err != nil {
		return err
	}
	s.Take(e.Tons)
	return f.save(ctx, s)
}

// Renames changes nothing but what the event says.
func (f *Farm) Renames(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	s, err := f.find(ctx, e.Silo)
	if err != nil {
		return err
	}
	s.Notes = e.Note
	return f.save(ctx, s)
}

type row struct {
	Name  string `db:"name"`
	Notes string `db:"notes"`
}

// Struct reads into a struct, and adds to a text.
func (f *Farm) Struct(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var r row
	if err := f.x.GetContext(ctx, &r, `SELECT name, notes FROM silos WHERE name = $1`, e.Silo); err != nil {
		return err
	}
	r.Notes = r.Notes + "\n" + e.Note
	_, err = f.x.ExecContext(ctx, `UPDATE silos SET notes = $1 WHERE name = $2`, r.Notes, r.Name)
	return err
}
