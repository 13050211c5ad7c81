// Package doors turns back on the state of a door.
package doors

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type State string

const (
	Open   State = "open"
	Shut   State = "shut"
	Walled State = "walled"
)

type Pushed struct {
	Door string `json:"door"`
	Who  string `json:"who"`
}

type Door struct {
	ID    int64
	State State
}

type House struct{ pool *pgxpool.Pool }

func (h *House) door(ctx context.Context, name string) (d Door, err error) {
	err = h.pool.QueryRow(ctx, `SELECT id, state FROM doors WHERE name = $1`, name).Scan(&d.ID, &d.State)
	return d, err
}

func (h *House) set(ctx context.Context, d Door, s State, who string) error {
	tx, err := h.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, `UPDATE doors SET state = $1 WHERE id = $2`, s, d.ID); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO visits (door, who) VALUES ($1, $2)`, d.ID, who); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// Pass asks for a state in which it does not leave the door.
func (h *House) Pass(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Pushed
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	d, err := h.door(ctx, e.Door)
	if err != nil {
		return err
	}
	if d.State == Walled {
		return errors.New("there is no way through")
	}
	return h.set(ctx, d, Open, e.Who)
}

// Shut asks for the one in which it does.
func (h *House) Shut(ctx context.Context, rec *kgo.Record) error {
	var e Pushed
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	d, err := h.door(ctx, e.Door)
	if err != nil {
		return err
	}
	switch d.State {
	case Open:
		return h.set(ctx, d, Shut, e.Who)
	case Shut, Walled:
		return nil
	}
	return errors.New("what is it then")
}
