// Package dining keeps the tables of a restaurant. Mark and write are both on the pool.
package dining

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/fixtures/deduptx/service_behind_interface/bus"
)

type Service struct {
	Pool *pgxpool.Pool
}

func (s *Service) Reserve(ctx context.Context, evt bus.TableReserved) error {
	tag, err := s.Pool.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	_, err = s.Pool.Exec(ctx, `UPDATE tables SET guests = guests + 1 WHERE number = $1`, evt.Table)
	return err
}
