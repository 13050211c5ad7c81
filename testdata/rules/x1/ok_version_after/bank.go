// Package ok_version_after writes a row only when it has the version that the event says it has, and leaves that version.
package ok_version_after

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type deposit struct {
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
	Version int64  `json:"version"`
}

type Bank struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

func (b *Bank) run(ctx context.Context, book func(context.Context, deposit) error) error {
	for {
		m, err := b.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var d deposit
		if err := json.Unmarshal(m.Value, &d); err != nil {
			return err
		}
		if err := book(ctx, d); err != nil {
			return err
		}
		if err := b.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (b *Bank) Counted(ctx context.Context) error {
	return b.run(ctx, func(ctx context.Context, d deposit) error {
		_, err := b.pool.Exec(ctx, `UPDATE account SET cents = cents + $3, version = version + 1 WHERE id = $1 AND version = $2`, d.Account, d.Version, d.Cents)
		return err
	})
}

func (b *Bank) Reckoned(ctx context.Context) error {
	return b.run(ctx, func(ctx context.Context, d deposit) error {
		_, err := b.pool.Exec(ctx, `UPDATE account SET cents = cents + $3, version = $2 + 1 WHERE id = $1 AND version = $2`, d.Account, d.Version, d.Cents)
		return err
	})
}

func (b *Bank) Before(ctx context.Context) error {
	return b.run(ctx, func(ctx context.Context, d deposit) error {
		_, err := b.pool.Exec(ctx, `UPDATE account SET cents = cents + $3, version = $2 WHERE id = $1 AND version = $2 - 1`, d.Account, d.Version, d.Cents)
		return err
	})
}

func (b *Bank) Handed(ctx context.Context) error {
	return b.run(ctx, func(ctx context.Context, d deposit) error {
		_, err := b.pool.Exec(ctx, `UPDATE account SET cents = cents + $4, version = $3 WHERE id = $1 AND version = $2`, d.Account, d.Version-1, d.Version, d.Cents)
		return err
	})
}
