// Package mine takes records that another package polls and makes its own.
package mine

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/fixtures/x1/records_of_another_package/hoist"
)

type Mine struct {
	source *hoist.Source
	pool   *pgxpool.Pool
}

func (m *Mine) Run(ctx context.Context) error { // want R-KFK-IDEM-X1
	for {
		records, err := m.source.Poll(ctx)
		if err != nil {
			return err
		}
		for _, r := range records {
			if _, err := m.pool.Exec(ctx, `UPDATE seams SET carts = carts + 1 WHERE name = $1`, string(r.Value)); err != nil {
				return err
			}
		}
	}
}
