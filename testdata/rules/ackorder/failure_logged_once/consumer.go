// Package lifts logs every failure and commits: one cause, and one finding at the commit.
package lifts

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"
	"time"

	"github.com/segmentio/kafka-go"
)

func Run(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := ride(ctx, db, m); err != nil {
			log.Println("ride:", err)
		}
		if err := r.CommitMessages(ctx, m); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

func ride(ctx context.Context, db *sql.DB, m kafka.Message) error {
	var e struct {
		EventID string `json:"event_id"`
		Lift    int64  `json:"lift"`
	}
	if err := json.Unmarshal(m.Value, &e); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, e.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE lifts SET rides = rides + 1 WHERE id = $1`, e.Lift); err != nil {
		return err
	}
	return tx.Commit()
}

func Purge(ctx context.Context, db *sql.DB, before time.Time) error {
	_, err := db.ExecContext(ctx, `DELETE FROM processed_event WHERE processed_at < $1`, before)
	return err
}
