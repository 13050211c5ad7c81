package skip

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

func Handle(ctx context.Context, pool *pgxpool.Pool, rec *kgo.Record) error { // want-off R-KFK-IDEM-X1
	_, err := pool.Exec(ctx, "INSERT INTO old (body) VALUES ($1)", rec.Value)
	return err
}

func nothing() int {
	// want-off-below idemlint
	//idemlint:ignore R-KFK-IDEM-X1 nothing is reported here, so that this is not called useless either
	return 0
}

func noReason() int {
	// want-off-below idemlint
	//idemlint:ignore R-KFK-IDEM-X1
	return 0
}
