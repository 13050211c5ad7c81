// Package locker notes the duplicates it meets. When that fails, nothing is lost.
package locker

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type DoorShut struct {
	EventID string `json:"event_id"`
	Locker  int64  `json:"locker"`
}

type Lockers struct{ pool *pgxpool.Pool }

func (l *Lockers) shut(ctx context.Context, d DoorShut) error {
	return pgx.BeginFunc(ctx, l.pool, func(tx pgx.Tx) error {
		var at time.Time
		err := tx.QueryRow(ctx, `SELECT processed_at FROM processed_events WHERE event_id = $1 FOR UPDATE`, d.EventID).Scan(&at)
		if err == nil {
			if _, err := l.pool.Exec(ctx, `UPDATE deliveries SET repeated = true, first_at = $1 WHERE locker = $2`, at, d.Locker); err != nil {
				slog.Warn("repetition not noted", "err", err)
			}
			return nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		tag, err := tx.Exec(ctx, `INSERT INTO processed_events (event_id, processed_at) VALUES ($1, now()) ON CONFLICT DO NOTHING`, d.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO door_log (locker) VALUES ($1)`, d.Locker)
		return err
	})
}

func (l *Lockers) Run(ctx context.Context, r *kafka.Reader) error {
	if err := l.Purge(ctx, time.Now().AddDate(0, -1, 0)); err != nil {
		return err
	}
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var d DoorShut
		if err := json.Unmarshal(m.Value, &d); err != nil {
			return err
		}
		if err := l.shut(ctx, d); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (l *Lockers) Purge(ctx context.Context, before time.Time) error {
	_, err := l.pool.Exec(ctx, `DELETE FROM processed_events WHERE processed_at < $1`, before)
	return err
}
