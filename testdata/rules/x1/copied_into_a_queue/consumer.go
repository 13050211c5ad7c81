// Package copied hands the parts of a consumed message to a worker in a message of its own: it is still a delivery.
package copied

import (
	"context"
	"database/sql"

	"github.com/segmentio/kafka-go"
)

type Worker struct {
	db *sql.DB
	ch chan kafka.Message
}

func (w *Worker) Poll(ctx context.Context, r *kafka.Reader) error {
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		w.ch <- kafka.Message{Key: m.Key, Value: m.Value}
	}
}

func (w *Worker) Work(ctx context.Context) error {
	for m := range w.ch { // want R-KFK-IDEM-X1
		if _, err := w.db.ExecContext(ctx, "INSERT INTO invoices (body) VALUES ($1)", m.Value); err != nil {
			return err
		}
	}
	return nil
}
