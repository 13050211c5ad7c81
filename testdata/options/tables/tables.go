package tables

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

type Store struct{ Pool *pgxpool.Pool }

func (s *Store) Add(ctx context.Context, id string) error {
	_, err := s.Pool.Exec(ctx, "INSERT INTO payment_refs (event_id) VALUES ($1)", id) // want R-KFK-IDEM-2
	return err
}

func (s *Store) Clean(ctx context.Context) error {
	_, err := s.Pool.Exec(ctx, "DELETE FROM payment_refs WHERE at < $1", time.Now().AddDate(0, 0, -14))
	return err
}

func Every(ctx context.Context, s *Store) error { return s.Clean(ctx) }
