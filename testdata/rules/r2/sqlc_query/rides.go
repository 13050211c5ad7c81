// Package rides closes rides. sqlc has made the Go code; what is wrong stands in its queries.
package rides

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"example.com/fixtures/r2/sqlc_query/db"
)

// Nightly forgets what is older than a week.
func Nightly(ctx context.Context, q *db.Queries) error {
	return q.DeleteReceived(ctx, pgtype.Timestamptz{Time: time.Now().AddDate(0, 0, -7), Valid: true})
}
