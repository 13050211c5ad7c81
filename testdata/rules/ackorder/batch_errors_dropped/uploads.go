// Package uploads gathers the errors of a batch and looks at none of them.
package uploads

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"

	"github.com/segmentio/kafka-go"
)

// Store keeps uploads.
type Store struct {
	reader *kafka.Reader
	db     *sql.DB
}

func (s *Store) one(ctx context.Context, msg kafka.Message) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO uploads (key, body) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET body = EXCLUDED.body`, string(msg.Key), msg.Value)
	return err
}

// Run works on batches.
func (s *Store) Run(ctx context.Context) error {
	for {
		batch := make([]kafka.Message, 0, 16)
		for len(batch) < cap(batch) {
			msg, err := s.reader.FetchMessage(ctx)
			if err != nil {
				return err
			}
			batch = append(batch, msg)
		}
		errs := make([]error, len(batch))
		var wg sync.WaitGroup
		for i, msg := range batch {
			wg.Go(func() { errs[i] = s.one(ctx, msg) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			slog.ErrorContext(ctx, "uploads failed", "err", err)
		}
		if err := s.reader.CommitMessages(ctx, batch...); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}
