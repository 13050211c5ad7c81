// Package cellars moves wine between cellars. The repository is copied onto the transaction.
package cellars

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/segmentio/kafka-go"
)

type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

type repository struct {
	db execer
}

func (r repository) with(tx *sql.Tx) repository { return repository{db: tx} }

func (r repository) markFirst(ctx context.Context, id string) (bool, error) {
	res, err := r.db.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

func (r repository) move(ctx context.Context, from, to string, bottles int) error {
	if _, err := r.db.ExecContext(ctx, `UPDATE cellars SET bottles = bottles - $2 WHERE name = $1`, from, bottles); err != nil {
		return err
	}
	_, err := r.db.ExecContext(ctx, `UPDATE cellars SET bottles = bottles + $2 WHERE name = $1`, to, bottles)
	return err
}

type WineMoved struct {
	EventID  string `json:"event_id"`
	From, To string
	Bottles  int
}

type Consumer struct {
	reader *kafka.Reader
	db     *sql.DB
	repo   repository
}

func New(reader *kafka.Reader, db *sql.DB) *Consumer {
	return &Consumer{reader: reader, db: db, repo: repository{db: db}}
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.handle(ctx, msg); err != nil {
			return err
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (c *Consumer) handle(ctx context.Context, msg kafka.Message) (err error) {
	var evt WineMoved
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback()
		}
	}()
	repo := c.repo.with(tx)
	fresh, err := repo.markFirst(ctx, evt.EventID)
	if err != nil {
		return err
	}
	if fresh {
		if err := repo.move(ctx, evt.From, evt.To, evt.Bottles); err != nil {
			return err
		}
	}
	return tx.Commit()
}
