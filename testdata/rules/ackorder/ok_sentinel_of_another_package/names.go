// Package names answers a failure with an error that another package exports: it is one, too.
package names

import (
	"context"
	"database/sql"
	"io"

	"github.com/segmentio/kafka-go"
)

// Run stores names.
func Run(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := store(ctx, db, msg.Key, msg.Value); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func store(ctx context.Context, db *sql.DB, key, name []byte) error {
	_, err := db.ExecContext(ctx, `INSERT INTO names (key, name) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET name = EXCLUDED.name`, key, name)
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	return nil
}
