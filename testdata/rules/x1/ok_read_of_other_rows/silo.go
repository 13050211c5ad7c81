// Package silo reads, computes and writes, though never what it has read where it writes: once more gives the same.
package silo

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Sold struct {
	Order string `json:"order"`
	Grain string `json:"grain"`
	Tons  int    `json:"tons"`
	Seq   int64  `json:"seq"`
	From  string `json:"from"`
}

func decode(rec *kgo.Record) (e Sold, err error) {
	err = json.Unmarshal(rec.Value, &e)
	return e, err
}

type Farm struct{ db *sql.DB }

// Prices computes with what another table holds.
func (f *Farm) Prices(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var price int
	if err := f.db.QueryRowContext(ctx, `SELECT price FROM grains WHERE name = $1`, e.Grain).Scan(&price); err != nil {
		return err
	}
	_, err = f.db.ExecContext(ctx, `UPDATE orders SET price = $1 WHERE id = $2`, price*e.Tons+40, e.Order)
	return err
}

// Copies computes with what another row of the table holds.
func (f *Farm) Copies(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var price int
	if err := f.db.QueryRowContext(ctx, `SELECT price FROM orders WHERE id = $1`, e.From).Scan(&price); err != nil {
		return err
	}
	_, err = f.db.ExecContext(ctx, `UPDATE orders SET price = $1 WHERE id = $2`, price+e.Tons, e.Order)
	return err
}

// Columns computes one column from another.
func (f *Farm) Columns(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var price int
	if err := f.db.QueryRowContext(ctx, `SELECT price FROM orders WHERE id = $1`, e.Order).Scan(&price); err != nil {
		return err
	}
	_, err = f.db.ExecContext(ctx, `UPDATE orders SET total = $1 WHERE id = $2`, price*e.Tons, e.Order)
	return err
}

// Newer adds to what it has read, though only for an event that is newer than the row: it leaves the event's number there.
func (f *Farm) Newer(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var tons int
	var seq int64
	if err := f.db.QueryRowContext(ctx, `SELECT tons, seq FROM orders WHERE id = $1`, e.Order).Scan(&tons, &seq); err != nil {
		return err
	}
	if e.Seq <= seq {
		return nil
	}
	_, err = f.db.ExecContext(ctx, `UPDATE orders SET tons = $1, seq = $2 WHERE id = $3`, tons+e.Tons, e.Seq, e.Order)
	return err
}
