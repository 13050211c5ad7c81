// Package barns stores hay. A helper of our own opens the transaction and hands out what writes in it.
package barns

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Work struct {
	tx pgx.Tx
}

func (w *Work) First(ctx context.Context, id string) (bool, error) {
	var got string
	err := w.tx.QueryRow(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id`, id).Scan(&got)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (w *Work) Store(ctx context.Context, barn string, bales int) error {
	_, err := w.tx.Exec(ctx, `INSERT INTO hay (barn, bales) VALUES ($1, $2)`, barn, bales)
	return err
}

type Units struct {
	pool *pgxpool.Pool
}

func (u *Units) Do(ctx context.Context, fn func(*Work) error) error {
	tx, err := u.pool.Begin(ctx)
	if err != nil {
		return err
	}
	if err := fn(&Work{tx: tx}); err != nil {
		return errors.Join(err, tx.Rollback(ctx))
	}
	return tx.Commit(ctx)
}

type HayDelivered struct {
	EventID string `json:"event_id"`
	Barn    string `json:"barn"`
	Bales   int    `json:"bales"`
}

type Consumer struct {
	units *Units
}

func (c *Consumer) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt HayDelivered
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	return c.units.Do(ctx, func(w *Work) error {
		fresh, err := w.First(ctx, evt.EventID)
		if err != nil || !fresh {
			return err
		}
		return w.Store(ctx, evt.Barn, evt.Bales)
	})
}
