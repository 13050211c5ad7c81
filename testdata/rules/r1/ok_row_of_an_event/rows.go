// Package rows stores events that have an id of their own: the row's id is another field.
package rows

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Envelope struct {
	EventID uuid.UUID `json:"event_id"`
	Type    string    `json:"type"`
}

type HarvestEvent struct {
	ID      uuid.UUID
	EventID uuid.UUID
	Type    string
}

type Store struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

func (s *Store) Run(ctx context.Context) error {
	for {
		msg, err := s.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := s.keep(ctx, msg); err != nil {
			return err
		}
		if err := s.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (s *Store) keep(ctx context.Context, msg kafka.Message) error {
	var env Envelope
	if err := json.Unmarshal(msg.Value, &env); err != nil {
		return err
	}
	row := HarvestEvent{EventID: env.EventID, Type: env.Type}
	row.ID = uuid.New()
	_, err := s.pool.Exec(ctx, `INSERT INTO harvest_events (id, event_id, type) VALUES ($1, $2, $3) ON CONFLICT (event_id) DO NOTHING`,
		row.ID, row.EventID, row.Type)
	return err
}
