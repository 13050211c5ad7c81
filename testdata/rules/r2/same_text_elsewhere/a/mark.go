// Package a lets the number of its marks decide. Package b spells its INSERT in the same way, and does not.
package a

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type dive struct {
	EventID string `json:"event_id"`
	Reef    string `json:"reef"`
}

func Count(ctx context.Context, tx *sql.Tx, rec *kgo.Record) error {
	var d dive
	if err := json.Unmarshal(rec.Value, &d); err != nil {
		return err
	}
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_dive_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, d.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE reefs SET dives = dives + 1 WHERE id = $1`, d.Reef)
	return err
}

func Sweep(ctx context.Context, tx *sql.Tx) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM processed_dive_events WHERE at < now() - interval '7 days'`)
	return err
}

func Daily(ctx context.Context, tx *sql.Tx) error { return Sweep(ctx, tx) }
