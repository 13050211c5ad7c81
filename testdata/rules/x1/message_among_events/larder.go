// Package larder polls events and works in place on those that are messages.
package larder

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

type portionTaken struct {
	Shelf int64 `json:"shelf"`
}

func polled(ctx context.Context, c *kafka.Consumer, db *sql.DB) error {
	for ctx.Err() == nil {
		ev := c.Poll(100) // want R-KFK-IDEM-X1
		switch e := ev.(type) {
		case *kafka.Message:
			var p portionTaken
			if err := json.Unmarshal(e.Value, &p); err != nil {
				continue
			}
			if _, err := db.ExecContext(ctx, `UPDATE shelves SET portions = portions - 1 WHERE id = $1`, p.Shelf); err != nil {
				return err
			}
			if _, err := c.CommitMessage(e); err != nil {
				return err
			}
		case kafka.Error:
			slog.Error("consumer", "err", e)
		}
	}
	return nil
}

var _ = polled
