// Package parcels books parcels at a depot. The mark comes last, and past the transaction of the work.
package parcels

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type ParcelArrived struct {
	EventID string `json:"event_id"`
	Depot   string `json:"depot"`
}

type Worker struct {
	reader *kafka.Reader
	db     *pgxpool.Pool
}

func (w *Worker) Loop(ctx context.Context) error {
	for {
		m, err := w.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var evt ParcelArrived
		if err := json.Unmarshal(m.Value, &evt); err != nil {
			return err
		}
		if err := w.book(ctx, evt); err != nil {
			return err
		}
		if err := w.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (w *Worker) book(ctx context.Context, evt ParcelArrived) error {
	var done bool
	if err := w.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM inbox_parcels WHERE event_id = $1)`, evt.EventID).Scan(&done); err != nil {
		return err
	}
	if done {
		return nil
	}
	err := pgx.BeginFunc(ctx, w.db, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE depots SET parcels = parcels + 1 WHERE name = $1`, evt.Depot)
		return err
	})
	if err != nil {
		return err
	}
	_, err = w.db.Exec(ctx, `INSERT INTO inbox_parcels (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID) // want R-KFK-IDEM-3 R-KFK-IDEM-2
	return err
}

// Purge drops marks that are too old to matter.
func (w *Worker) Purge(ctx context.Context, before time.Time) error {
	_, err := w.db.Exec(ctx, `DELETE FROM inbox_parcels WHERE processed_at < $1`, before)
	return err
}
