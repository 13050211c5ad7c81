// Package store keeps the outbox.
package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type OutboxRow struct {
	ID      string
	Topic   string
	Payload []byte
}

func NewOutboxRow(topic string, payload []byte) *OutboxRow {
	return &OutboxRow{ID: uuid.NewString(), Topic: topic, Payload: payload} // want-alone R-KFK-IDEM-1
}

type Store struct{ pool *pgxpool.Pool }

func New(pool *pgxpool.Pool) *Store { return &Store{pool} }

func (s *Store) Add(ctx context.Context, tx pgx.Tx, topic string, payload []byte) error {
	r := NewOutboxRow(topic, payload)
	_, err := tx.Exec(ctx, `INSERT INTO harbour_outbox (id, topic, payload) VALUES ($1, $2, $3)`, r.ID, r.Topic, r.Payload)
	return err
}

func (s *Store) Pending(ctx context.Context, limit int) ([]*OutboxRow, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, topic, payload FROM harbour_outbox WHERE sent_at IS NULL ORDER BY created_at LIMIT $1`, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []*OutboxRow
	for rows.Next() {
		r := &OutboxRow{}
		if err := rows.Scan(&r.ID, &r.Topic, &r.Payload); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
