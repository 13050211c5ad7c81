// Package locker reads a row and writes it; the failure of the write is only logged.
package locker

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/segmentio/kafka-go"
)

type DoorShut struct {
	Locker int64  `json:"locker"`
	By     string `json:"by"`
}

type Lockers struct{ db *sql.DB }

func (l *Lockers) shut(ctx context.Context, d DoorShut) error {
	var state string
	err := l.db.QueryRowContext(ctx, `SELECT state FROM lockers WHERE id = $1`, d.Locker).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return errors.New("no such locker")
	}
	if err != nil {
		return err
	}
	_, err = l.db.ExecContext(ctx, `UPDATE lockers SET state = 'shut', used_by = $1 WHERE id = $2`, d.By, d.Locker)
	return err
}

func (l *Lockers) Run(ctx context.Context, r *kafka.Reader) error {
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
			slog.Error("shut", "err", err)
		}
		if err := r.CommitMessages(ctx, m); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

// Careful commits only what was written.
func (l *Lockers) Careful(ctx context.Context, r *kafka.Reader) error {
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
