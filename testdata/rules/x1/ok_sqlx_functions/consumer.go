// Package tables seats guests: sqlx by its package functions, and a row whose state tells that the work was done.
package tables

import (
	"context"
	"encoding/json"

	"github.com/jmoiron/sqlx"
	"github.com/segmentio/kafka-go"
)

type request struct {
	ID     string  `db:"id"`
	DoneAt *string `db:"done_at"`
}

type Consumer struct {
	r  *kafka.Reader
	db *sqlx.DB
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		m, err := c.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.seat(ctx, m); err != nil {
			return err
		}
		if err := c.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (c *Consumer) seat(ctx context.Context, m kafka.Message) error {
	var evt struct {
		Request string `json:"request"`
		Table   int    `json:"table"`
	}
	if err := json.Unmarshal(m.Value, &evt); err != nil {
		return err
	}
	tx, err := c.db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var req request
	if err := sqlx.GetContext(ctx, tx, &req, `SELECT id, done_at FROM seat_requests WHERE id = $1 FOR UPDATE`, evt.Request); err != nil {
		return err
	}
	if req.DoneAt != nil {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO seatings (table_no) VALUES ($1)`, evt.Table); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE seat_requests SET done_at = now() WHERE id = $1`, evt.Request); err != nil {
		return err
	}
	return tx.Commit()
}
