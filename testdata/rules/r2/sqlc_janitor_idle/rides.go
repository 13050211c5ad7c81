// Package trips marks trips. A query that deletes is there, but nothing calls its method.
package trips

import (
	"context"

	"github.com/google/uuid"

	"example.com/fixtures/r2/sqlc_janitor_idle/db"
)

// Mark reports whether the trip's message is new.
func Mark(ctx context.Context, q *db.Queries, id uuid.UUID) (bool, error) {
	n, err := q.MarkReceived(ctx, id)
	return n == 1, err
}
