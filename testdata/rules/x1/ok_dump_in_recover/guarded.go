// Package guarded writes down what it was at when it panics, which is no work of the handler's.
package guarded

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/segmentio/kafka-go"
)

// Run keeps the last word on every key.
func Run(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := keep(ctx, db, msg); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func keep(ctx context.Context, db *sql.DB, msg kafka.Message) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			if f, e := os.OpenFile("crash.txt", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); e == nil {
				f.Write(debug.Stack())
				f.Close()
			}
		}
	}()
	_, err = db.ExecContext(ctx, `INSERT INTO words (key, word) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET word = EXCLUDED.word`, msg.Key, msg.Value)
	return err
}
