// Package bells rings once for each event: the repository gives back the nil id when the row is there already.
package bells

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Hour struct {
	EventID string `json:"event_id"`
	Tower   string `json:"tower"`
}

type Rings struct{ pool *pgxpool.Pool }

func (r *Rings) Add(ctx context.Context, h Hour) (uuid.UUID, error) {
	var id uuid.UUID
	err := r.pool.QueryRow(ctx, `INSERT INTO rings (event_id, tower) VALUES ($1, $2) ON CONFLICT (event_id) DO NOTHING RETURNING id`,
		h.EventID, h.Tower).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, err
	}
	return id, nil
}

type Ringer struct {
	reader *kafka.Reader
	rings  *Rings
	out    *kafka.Writer
}

func (r *Ringer) Run(ctx context.Context) error {
	for {
		msg, err := r.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := r.ring(ctx, msg); err != nil {
			return err
		}
		if err := r.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (r *Ringer) ring(ctx context.Context, msg kafka.Message) error {
	var h Hour
	if err := json.Unmarshal(msg.Value, &h); err != nil {
		return err
	}
	id, err := r.rings.Add(ctx, h)
	if err != nil {
		return err
	}
	if id == uuid.Nil {
		return nil
	}
	return r.out.WriteMessages(ctx, kafka.Message{Topic: "bells", Key: id[:], Value: msg.Value})
}
