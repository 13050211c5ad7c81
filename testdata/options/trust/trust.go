package trust

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/options/audit"
)

func Handle(ctx context.Context, pool *pgxpool.Pool, rec *kgo.Record) error { // want-off R-KFK-IDEM-X1
	return audit.Write(ctx, pool, rec.Value)
}
