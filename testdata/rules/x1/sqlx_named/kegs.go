// Package kegs names the arguments of its statements.
package kegs

import (
	"context"
	"encoding/json"

	"github.com/jmoiron/sqlx"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Tapped struct {
	EventID string `json:"event_id" db:"event_id"`
	Keg     string `json:"keg" db:"keg"`
	Liters  int    `json:"liters" db:"liters"`
}

type Cellar struct{ db *sqlx.DB }

// Add adds.
func (c *Cellar) Add(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Tapped
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	_, err := c.db.NamedExecContext(ctx, `UPDATE kegs SET liters = liters - :liters WHERE keg = :keg`, e)
	return err
}

// AddOnce marks by the event's id, which is a field of the same struct.
func (c *Cellar) AddOnce(ctx context.Context, rec *kgo.Record) error {
	var e Tapped
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	tx, err := c.db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.NamedExecContext(ctx, `INSERT INTO consumed_tap_events (event_id) VALUES (:event_id) ON CONFLICT DO NOTHING`, e)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.NamedExecContext(ctx, `UPDATE kegs SET liters = liters - :liters WHERE keg = :keg`, e); err != nil {
		return err
	}
	return tx.Commit()
}

// Returned reads what an INSERT returns.
func (c *Cellar) Returned(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Tapped
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	rows, err := c.db.NamedQueryContext(ctx, `INSERT INTO taps (keg, liters) VALUES (:keg, :liters) RETURNING id`, e)
	if err != nil {
		return err
	}
	return rows.Close()
}

// Sets sets.
func (c *Cellar) Sets(ctx context.Context, rec *kgo.Record) error {
	var e Tapped
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	_, err := c.db.NamedExecContext(ctx, `UPDATE kegs SET liters = :liters WHERE keg = :keg`, map[string]any{"liters": e.Liters, "keg": e.Keg})
	return err
}

// In marks a number of kegs as empty, with a list of arguments that sqlx spreads.
func (c *Cellar) In(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Tapped
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	text, args, err := sqlx.In(`UPDATE kegs SET taps = taps + 1 WHERE keg IN (?)`, []string{e.Keg})
	if err != nil {
		return err
	}
	_, err = c.db.ExecContext(ctx, c.db.Rebind(text), args...)
	return err
}

// Sweep keeps the marks small.
func (c *Cellar) Sweep(ctx context.Context) error {
	_, err := c.db.ExecContext(ctx, `DELETE FROM consumed_tap_events WHERE consumed_at < now() - interval '30 days'`)
	return err
}

func Main(ctx context.Context, c *Cellar) { go c.Sweep(ctx) }
