package runtime

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/idemlint/idemlint/runtime/internal/idemkey"
)

// intentSQL are the statements on call_intent, which names it with its schema for the
// same reason as markSQL does.
type intentSQL struct {
	processed, acquire, request, park, finish, leave, release string
}

// bindIntents settles which tables the steps of a call use.
func (c *Consumer) bindIntents(table tableInfo) error {
	for topic, h := range c.handlers {
		if _, ok := h.(caller); ok && table.intents == "" {
			return fmt.Errorf("%w: call_intent is missing, which HandleCall of topic %q needs", ErrNotMigrated, topic)
		}
	}
	c.intents = makeIntentSQL(table.parent(), pgx.Identifier{table.intents, "call_intent"}.Sanitize())
	return nil
}

func makeIntentSQL(marks, intents string) intentSQL {
	const these = ` WHERE event_id = ANY ($1::pg_catalog.uuid[]) AND consumer_group = $2 AND step = $3`
	return intentSQL{
		processed: `SELECT event_id FROM ` + marks + ` WHERE event_id = ANY ($1::pg_catalog.uuid[]) AND consumer_group = $2`,
		// A row that somebody else holds is locked but neither changed nor returned.
		acquire: `INSERT INTO ` + intents + ` AS held (event_id, consumer_group, step, idempotency_key, leased_by, leased_until)
SELECT event_id, $2, $3, key, $5, pg_catalog.clock_timestamp() + $6
FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.uuid[]), pg_catalog.unnest($4::pg_catalog.uuid[])) AS wanted (event_id, key)
ON CONFLICT (event_id, consumer_group, step) DO UPDATE
SET leased_by = excluded.leased_by, leased_until = excluded.leased_until
WHERE held.leased_by = excluded.leased_by OR held.leased_until <= pg_catalog.clock_timestamp()
RETURNING event_id, request, began_at, extract(epoch FROM pg_catalog.clock_timestamp() - began_at)::pg_catalog.float8`,
		request: `UPDATE ` + intents + ` SET request = $4::pg_catalog.json WHERE event_id = $1 AND consumer_group = $2 AND step = $3`,
		park:    `UPDATE ` + intents + ` SET parked_at = coalesce(parked_at, pg_catalog.now()), leased_until = pg_catalog.now()` + these,
		finish:  `DELETE FROM ` + intents + these,
		// Also gives the lease up: whoever has the event when it is tried again may be another.
		leave: `UPDATE ` + intents + ` AS held SET attempts = attempts + 1, last_error = left_with.error, leased_until = pg_catalog.now()
FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.uuid[]), pg_catalog.unnest($4::pg_catalog.text[])) AS left_with (event_id, error)
WHERE held.event_id = left_with.event_id AND consumer_group = $2 AND step = $3`,
		release: `UPDATE ` + intents + ` SET leased_until = pg_catalog.now()` + these + ` AND leased_by = $4`,
	}
}

// An intent is a row of call_intent that this consumer holds.
type intent struct {
	request []byte // nil if the row is of this transaction
	began   time.Time
	age     time.Duration
}

// sortedUUIDs returns ids in ascending order, in which all transactions touch rows.
func sortedUUIDs(ids []uuid.UUID) []pgtype.UUID {
	sorted := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		sorted[i] = pgtype.UUID{Bytes: id, Valid: true}
	}
	slices.SortFunc(sorted, func(x, y pgtype.UUID) int { return bytes.Compare(x.Bytes[:], y.Bytes[:]) })
	return sorted
}

// processedOf returns those of ids that are marked.
func (c *Consumer) processedOf(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) (map[uuid.UUID]bool, error) {
	found := make(map[uuid.UUID]bool)
	if len(ids) == 0 {
		return found, nil
	}
	rows, err := tx.Query(ctx, c.intents.processed, sortedUUIDs(ids), c.cfg.Group)
	if err == nil {
		var id pgtype.UUID
		_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
			found[id.Bytes] = true
			return nil
		})
	}
	if err != nil {
		return nil, &databaseError{doing: "looking for processed events", err: err}
	}
	return found, nil
}

// acquireIntents writes the intents of ids, or takes those that are there and that nobody
// holds, under a lease for a time. What it does not return is held by somebody else.
func (c *Consumer) acquireIntents(ctx context.Context, tx pgx.Tx, step string, lease uuid.UUID, term time.Duration, ids []uuid.UUID) (map[uuid.UUID]intent, error) {
	held := make(map[uuid.UUID]intent, len(ids))
	if len(ids) == 0 {
		return held, nil
	}
	sorted := sortedUUIDs(ids)
	keys := make([]pgtype.UUID, len(sorted))
	for i, id := range sorted {
		keys[i] = pgtype.UUID{Bytes: idemkey.Of(id.Bytes, c.cfg.Group, step), Valid: true}
	}
	rows, err := tx.Query(ctx, c.intents.acquire, sorted, c.cfg.Group, step, keys, plainArg(lease), term)
	if err == nil {
		var id pgtype.UUID
		var in intent
		var seconds float64
		_, err = pgx.ForEachRow(rows, []any{&id, &in.request, &in.began, &seconds}, func() error {
			in.age = time.Duration(seconds * float64(time.Second))
			in.request = slices.Clone(in.request)
			held[id.Bytes] = in
			return nil
		})
	}
	if err != nil {
		return nil, &databaseError{doing: "writing the intents of calls", err: err}
	}
	return held, nil
}

// execIntents runs one of the statements on the intents of ids.
func (c *Consumer) execIntents(ctx context.Context, tx pgx.Tx, doing, sql, step string, ids []uuid.UUID, args ...any) error {
	if len(ids) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, sql, append([]any{sortedUUIDs(ids), c.cfg.Group, step}, args...)...); err != nil {
		return &databaseError{doing: doing, err: err}
	}
	return nil
}

// leaveIntents notes what calls failed with whose outcome is unknown.
func (c *Consumer) leaveIntents(ctx context.Context, tx pgx.Tx, step string, left map[uuid.UUID]error) error {
	if len(left) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, 0, len(left))
	for id := range left {
		ids = append(ids, id)
	}
	sorted := sortedUUIDs(ids)
	texts := make([]string, len(sorted))
	for i, id := range sorted {
		texts[i] = printable(left[id.Bytes].Error())
	}
	if _, err := tx.Exec(ctx, c.intents.leave, sorted, c.cfg.Group, step, texts); err != nil {
		return &databaseError{doing: "leaving calls whose outcome is unknown", err: err}
	}
	return nil
}

// releaseTimeout bounds giving leases up. It may come at the end of an assignment, so
// it is less than what a rebalance waits for.
const releaseTimeout = 2 * time.Second

// releaseIntents lets others make calls that this lane has in hand but not brought to
// an end. Without it they wait for the lease.
func (l *lane) releaseIntents(step string, ids []uuid.UUID) {
	c := l.assignment.consumer
	if len(ids) == 0 || c.crashed.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.assignment.ctx), releaseTimeout)
	defer cancel()
	if _, err := c.pool.Exec(ctx, c.intents.release, sortedUUIDs(ids), c.cfg.Group, step, plainArg(l.lease)); err != nil {
		c.cfg.Logger.Warn("leases of calls not given up; others wait for their end", "group", c.cfg.Group, "step", step, "error", err)
	}
}
