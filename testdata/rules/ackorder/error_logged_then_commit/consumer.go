// Package tides records tides. A failure is logged, and the commit follows all the same.
package tides

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

	"github.com/segmentio/kafka-go"
)

type TideRead struct {
	Pier   string  `json:"pier"`
	Metres float64 `json:"metres"`
}

type Store struct {
	db *sql.DB
}

func (s *Store) Put(ctx context.Context, pier string, metres float64) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO tides (pier, metres) VALUES ($1, $2) ON CONFLICT (pier) DO UPDATE SET metres = excluded.metres`, pier, metres)
	return err
}

type Consumer struct {
	reader *kafka.Reader
	store  *Store
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var evt TideRead
		if err := json.Unmarshal(msg.Value, &evt); err != nil {
			slog.Error("undecodable", "error", err)
		} else if err := c.store.Put(ctx, evt.Pier, evt.Metres); err != nil {
			slog.Error("tide not stored", "error", err)
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}
