// Package tolls turns a unique violation into an error type of its own, which the handler knows.
package tolls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

// RepeatError says that the passage was booked before.
type RepeatError struct{ Passage string }

func (e *RepeatError) Error() string { return "passage " + e.Passage + " was booked before" }

type Passed struct {
	EventID string `json:"event_id"`
	Plate   string `json:"plate"`
}

type Consumer struct {
	r    *kafka.Reader
	pool *pgxpool.Pool
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		m, err := c.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var evt Passed
		if err := json.Unmarshal(m.Value, &evt); err != nil {
			return err
		}
		err = c.book(ctx, evt)
		var repeat *RepeatError
		if err != nil && !errors.As(err, &repeat) {
			return err
		}
		if err := c.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (c *Consumer) book(ctx context.Context, evt Passed) error {
	tx, err := c.pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, `INSERT INTO passages (event_id, plate) VALUES ($1, $2)`, evt.EventID, evt.Plate); err != nil {
		var pg *pgconn.PgError
		if errors.As(err, &pg) && pg.Code == "23505" {
			return fmt.Errorf("book: %w", &RepeatError{evt.EventID})
		}
		return err
	}
	if _, err := tx.Exec(ctx, `UPDATE accounts SET due = due + 2 WHERE plate = $1`, evt.Plate); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
