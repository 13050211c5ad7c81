// Package pantry polls events of which some are messages, and acknowledges these before the work or after its failure.
package pantry

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

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
			if _, err := c.StoreMessage(e); err != nil { // want R-KFK-IDEM-3
				return err
			}
			if err := store(ctx, db, e.Value); err != nil {
				return err
			}
		case kafka.Error:
			return e
		}
	}
	return nil
}

func byAssertion(ctx context.Context, c *kafka.Consumer, db *sql.DB) error {
	for ctx.Err() == nil {
		m, ok := c.Poll(200).(*kafka.Message)
		if !ok {
			continue
		}
		if err := store(ctx, db, m.Value); err != nil {
			slog.Error("store", "err", err)
		}
		if _, err := c.CommitMessage(m); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
	return nil
}

func byEvents(ctx context.Context, c *kafka.Consumer, db *sql.DB) error {
	for ev := range c.Events() {
		if m, ok := ev.(*kafka.Message); ok {
			go func() {
				if err := store(ctx, db, m.Value); err != nil {
					slog.Error("store", "err", err)
				}
			}()
			if _, err := c.CommitMessage(m); err != nil { // want R-KFK-IDEM-3
				return err
			}
		}
	}
	return nil
}

func bySelect(ctx context.Context, c *kafka.Consumer, db *sql.DB) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case ev := <-c.Events():
			switch e := ev.(type) {
			case *kafka.Message:
				tp := e.TopicPartition
				tp.Offset++
				if _, err := c.StoreOffsets([]kafka.TopicPartition{tp}); err != nil { // want R-KFK-IDEM-3
					return err
				}
				if err := store(ctx, db, e.Value); err != nil {
					return err
				}
			case kafka.Error:
				slog.Error("consumer", "err", e)
			}
		}
	}
}

// source is as much of a consumer as is needed here.
type source interface {
	Poll(ms int) kafka.Event
	CommitMessage(m *kafka.Message) ([]kafka.TopicPartition, error)
}

func byInterface(ctx context.Context, c source, db *sql.DB) error {
	for ctx.Err() == nil {
		if m, ok := c.Poll(200).(*kafka.Message); ok {
			if _, err := c.CommitMessage(m); err != nil { // want R-KFK-IDEM-3
				return err
			}
			if err := store(ctx, db, m.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

var _ = []any{bySwitch, byAssertion, byEvents, bySelect, byInterface}
