// Package pantry polls events of which some are messages, and acknowledges these after the work. What it does about
// events that are none is no work of a message.
package pantry

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

type jarOpened struct {
	Jar   string `json:"jar"`
	Level int    `json:"level"`
}

func store(ctx context.Context, db *sql.DB, raw []byte) error {
	var j jarOpened
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `INSERT INTO jars (jar, level) VALUES ($1, $2) ON CONFLICT (jar) DO UPDATE SET level = excluded.level`, j.Jar, j.Level)
	return err
}

func bySwitch(ctx context.Context, c *kafka.Consumer, db *sql.DB) error {
	for ctx.Err() == nil {
		switch e := c.Poll(200).(type) {
		case *kafka.Message:
			if err := store(ctx, db, e.Value); err != nil {
				return err
			}
			if _, err := c.CommitMessage(e); err != nil {
				return err
			}
		case kafka.Error:
			if _, err := db.ExecContext(ctx, `INSERT INTO troubles (text, at) VALUES ($1, $2)`, e.Error(), time.Now()); err != nil {
				return err
			}
		}
	}
	return nil
}

func byEvents(ctx context.Context, c *kafka.Consumer, db *sql.DB) error {
	for ev := range c.Events() {
		m, ok := ev.(*kafka.Message)
		if !ok {
			continue
		}
		if err := store(ctx, db, m.Value); err != nil {
			return err
		}
		if _, err := c.StoreMessage(m); err != nil {
			return err
		}
	}
	return nil
}

var _ = []any{bySwitch, byEvents}
