// Package thumbnails gathers a batch, works on it in several ways, and commits it when all of it is done.
package thumbnails

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

// Maker makes thumbnails.
type Maker struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

func (m *Maker) one(ctx context.Context, msg kafka.Message) error {
	var e struct {
		EventID string `json:"event_id"`
		Path    string `json:"path"`
	}
	if err := json.Unmarshal(msg.Value, &e); err != nil {
		return nil
	}
	return pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_uploads (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, e.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO thumbnail_jobs (path) VALUES ($1)`, e.Path)
		return err
	})
}

// InTurn works on one message after another.
func (m *Maker) InTurn(ctx context.Context) error {
	for {
		batch := make([]kafka.Message, 0, 16)
		for len(batch) < cap(batch) {
			msg, err := m.reader.FetchMessage(ctx)
			if err != nil {
				return err
			}
			batch = append(batch, msg)
		}
		for _, msg := range batch {
			if err := m.one(ctx, msg); err != nil {
				return err
			}
		}
		if err := m.reader.CommitMessages(ctx, batch...); err != nil {
			return err
		}
	}
}

// AtOnce works on all at once: each goroutine leaves its error in a place of its own.
func (m *Maker) AtOnce(ctx context.Context) error {
	var batch []kafka.Message
	for {
		batch = batch[:0]
		for range 16 {
			msg, err := m.reader.FetchMessage(ctx)
			if err != nil {
				return err
			}
			batch = append(batch, msg)
		}
		errs := make([]error, len(batch))
		var wg sync.WaitGroup
		for i, msg := range batch {
			wg.Go(func() { errs[i] = m.one(ctx, msg) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if err := m.reader.CommitMessages(ctx, batch...); err != nil {
			return err
		}
	}
}

// ThroughChannel collects the errors of the goroutines from a channel.
func (m *Maker) ThroughChannel(ctx context.Context) error {
	for {
		batch := make([]kafka.Message, 0, 16)
		for len(batch) < cap(batch) {
			msg, err := m.reader.FetchMessage(ctx)
			if err != nil {
				return err
			}
			batch = append(batch, msg)
		}
		var wg sync.WaitGroup
		failed := make(chan error, len(batch))
		for _, msg := range batch {
			wg.Go(func() {
				if err := m.one(ctx, msg); err != nil {
					failed <- err
				}
			})
		}
		wg.Wait()
		close(failed)
		var all []error
		for err := range failed {
			all = append(all, err)
		}
		if len(all) > 0 {
			return errors.Join(all...)
		}
		if err := m.reader.CommitMessages(ctx, batch...); err != nil {
			return err
		}
	}
}
