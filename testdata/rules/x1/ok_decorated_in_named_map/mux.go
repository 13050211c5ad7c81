// Package sightings keeps its handlers in a map type of its own that is the consumer group's handler, too.
package sightings

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/IBM/sarama"
)

type EventHandler interface {
	HandleEvent(ctx context.Context, value []byte) error
}

type mux map[string]EventHandler

func (m mux) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (m mux) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m mux) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for msg := range c.Messages() {
		if h, ok := m[msg.Topic]; ok {
			if err := h.HandleEvent(s.Context(), msg.Value); err != nil {
				return err
			}
		}
		s.MarkMessage(msg, "")
	}
	return nil
}

type once struct {
	db   *sql.DB
	next EventHandler
}

func (o *once) HandleEvent(ctx context.Context, value []byte) error {
	var head struct {
		EventID string `json:"event_id"`
	}
	if err := json.Unmarshal(value, &head); err != nil {
		return err
	}
	var seen bool
	if err := o.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT FROM processed_event WHERE event_id = $1)`, head.EventID).Scan(&seen); err != nil {
		return err
	}
	if seen {
		return nil
	}
	return o.next.HandleEvent(ctx, value)
}

type birds struct{ db *sql.DB }

func (b *birds) HandleEvent(ctx context.Context, value []byte) error {
	var e struct {
		Bird string `json:"bird"`
	}
	if err := json.Unmarshal(value, &e); err != nil {
		return err
	}
	_, err := b.db.ExecContext(ctx, `UPDATE birds SET sightings = sightings + 1 WHERE name = $1`, e.Bird)
	return err
}

func Start(ctx context.Context, group sarama.ConsumerGroup, db *sql.DB) error {
	m := mux{"birds.seen": &once{db, &birds{db}}}
	return group.Consume(ctx, []string{"birds.seen"}, m)
}

func Purge(ctx context.Context, db *sql.DB, before time.Time) error {
	_, err := db.ExecContext(ctx, `DELETE FROM processed_event WHERE processed_at < $1`, before)
	return err
}
