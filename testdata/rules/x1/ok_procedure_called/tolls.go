// Package tolls calls procedures that do nothing twice, or that can tell.
package tolls

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type passage struct {
	EventID string `json:"event_id"`
	Plate   string `json:"plate"`
	Cents   int64  `json:"cents"`
}

// Charge hands over the event's id: what the procedure makes of it is not seen.
func Charge(ctx context.Context, db *sql.DB, rec *kgo.Record) error {
	var p passage
	if err := json.Unmarshal(rec.Value, &p); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `CALL charge_toll($1, $2, $3)`, p.EventID, p.Plate, p.Cents)
	return err
}

const definition = `
CREATE PROCEDURE see_plate(plate text) LANGUAGE sql AS $$
	INSERT INTO plates (id) VALUES (plate) ON CONFLICT DO NOTHING
$$`

func Migrate(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, definition)
	return err
}

func See(ctx context.Context, db *sql.DB, rec *kgo.Record) error {
	var p passage
	if err := json.Unmarshal(rec.Value, &p); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `CALL see_plate($1)`, p.Plate)
	return err
}

// Locked takes a lock, which is over with the transaction.
func Locked(ctx context.Context, tx *sql.Tx, rec *kgo.Record) error {
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock(hashtext($1))`, string(rec.Key))
	return err
}

// Checked marks first.
func Checked(ctx context.Context, tx *sql.Tx, rec *kgo.Record) error {
	var p passage
	if err := json.Unmarshal(rec.Value, &p); err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO received_messages (message_id) VALUES ($1) ON CONFLICT DO NOTHING`, p.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `CALL charge_toll($1, $2)`, p.Plate, p.Cents)
	return err
}

func Sweep(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `DELETE FROM received_messages WHERE at < now() - interval '7 days'`)
	return err
}
