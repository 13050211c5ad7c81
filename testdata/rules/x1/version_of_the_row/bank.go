// Package version_of_the_row goes by the version that it has just read, which a redelivery reads anew.
package version_of_the_row

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type deposit struct {
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}

type account struct {
	Cents   int64
	Version int64
}

type Bank struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

var errMeanwhile = errors.New("written meanwhile")

func (b *Bank) Run(ctx context.Context) error {
	for {
		m, err := b.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := b.counted(ctx, m); err != nil {
			return err
		}
		if err := b.stepped(ctx, m); err != nil {
			return err
		}
		if err := b.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (b *Bank) counted(ctx context.Context, m kafka.Message) error { // want R-KFK-IDEM-X1
	var d deposit
	if err := json.Unmarshal(m.Value, &d); err != nil {
		return err
	}
	var version int64
	if err := b.pool.QueryRow(ctx, `SELECT version FROM account WHERE id = $1`, d.Account).Scan(&version); err != nil {
		return err
	}
	tag, err := b.pool.Exec(ctx, `UPDATE account SET cents = cents + $3, version = version + 1 WHERE id = $1 AND version = $2`, d.Account, version, d.Cents)
	if err == nil && tag.RowsAffected() == 0 {
		return errMeanwhile
	}
	return err
}

func (b *Bank) stepped(ctx context.Context, m kafka.Message) error { // want R-KFK-IDEM-X1
	var d deposit
	if err := json.Unmarshal(m.Value, &d); err != nil {
		return err
	}
	var a account
	if err := b.pool.QueryRow(ctx, `SELECT cents, version FROM account WHERE id = $1`, d.Account).Scan(&a.Cents, &a.Version); err != nil {
		return err
	}
	tag, err := b.pool.Exec(ctx, `UPDATE account SET cents = $4, version = $3 WHERE id = $1 AND version = $2`, d.Account, a.Version, a.Version+1, a.Cents+d.Cents)
	if err == nil && tag.RowsAffected() == 0 {
		return errMeanwhile
	}
	return err
}
