// Package kiln fires a batch and keeps its lease alive meanwhile: the beats are no work of the message's.
package kiln

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Firing struct {
	ID    string `json:"id"`
	Glaze string `json:"glaze"`
}

type Worker struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

func (w *Worker) Run(ctx context.Context) error {
	for {
		msg, err := w.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := w.fire(ctx, msg); err != nil {
			return err
		}
		if err := w.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (w *Worker) fire(ctx context.Context, msg kafka.Message) error {
	var f Firing
	if err := json.Unmarshal(msg.Value, &f); err != nil {
		return err
	}
	stop := w.beat(ctx, f.ID)
	defer stop()
	leave := w.watch(ctx, f.ID)
	defer leave()
	_, err := w.pool.Exec(ctx, `UPDATE firings SET glaze = $2 WHERE id = $1`, f.ID, f.Glaze)
	return err
}

func (w *Worker) beat(ctx context.Context, id string) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		every := time.NewTicker(5 * time.Second)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-every.C:
				if _, err := w.pool.Exec(ctx, `UPDATE firings SET lease_until = now() + interval '15 seconds' WHERE id = $1`, id); err != nil {
					slog.Warn("lease", "error", err)
				}
			}
		}
	}()
	return cancel
}

func (w *Worker) watch(ctx context.Context, id string) context.CancelFunc {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		every := time.NewTicker(time.Minute)
		defer every.Stop()
		for range every.C {
			if ctx.Err() != nil {
				return
			}
			w.pool.Exec(ctx, `UPDATE firings SET seen_at = now() WHERE id = $1`, id)
		}
	}()
	return cancel
}
