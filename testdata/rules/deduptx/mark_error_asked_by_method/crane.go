// Package mark_error_asked_by_method takes every failure of its mark for a duplicate that has not the method it asks for.
package mark_error_asked_by_method

import (
	"context"
	"database/sql"
	"errors"
	"net/http"

	"github.com/segmentio/kafka-go"
)

type Crane struct {
	reader *kafka.Reader
	db     *sql.DB
}

func (c *Crane) Run(ctx context.Context) error {
	for {
		m, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.lift(ctx, m); err != nil {
			return err
		}
		if err := c.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (c *Crane) lift(ctx context.Context, m kafka.Message) error {
	res, err := c.db.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, string(m.Key)) // want R-KFK-IDEM-3
	if err != nil {
		var slow interface{ Timeout() bool }
		if errors.As(err, &slow) {
			return err
		}
		return nil
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = http.Post("http://crane.local/lift", "text/plain", nil)
	return err
}
