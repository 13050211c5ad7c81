package strict

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

func Handle(ctx context.Context, pool *pgxpool.Pool, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	_, err := pool.Exec(ctx, "INSERT INTO cart (id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body", rec.Key, rec.Value)
	return err
}
