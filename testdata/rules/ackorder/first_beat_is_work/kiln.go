// Package kiln starts a firing in a goroutine and then goes on to beat: the start is the message's work.
package kiln

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Firing struct {
	ID string `json:"id"`
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
		var f Firing
		if err := json.Unmarshal(msg.Value, &f); err != nil {
			return err
		}
		go w.fire(ctx, f.ID)
		if err := w.reader.CommitMessages(ctx, msg); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

func (w *Worker) fire(ctx context.Context, id string) {
	w.pool.Exec(ctx, `UPDATE firings SET state = 'hot' WHERE id = $1`, id)
	every := time.NewTicker(5 * time.Second)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			w.pool.Exec(ctx, `UPDATE firings SET lease_until = now() + interval '15 seconds' WHERE id = $1`, id)
		}
	}
}
