package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/twmb/franz-go/pkg/kgo"
)

// auditLevel is the level of the line about a skipped duplicate.
const auditLevel = slog.LevelDebug

// A skip is a record whose event had been processed before.
type skip struct {
	rec *kgo.Record
	id  uuid.UUID
	// processedAt is when the event was marked as processed, zero if that is now, in
	// this batch, or its mark is gone by the time one looks.
	processedAt time.Time
	inBatch     bool // a repeat of a record of the same batch
}

func (s skip) log(ctx context.Context, logger *slog.Logger, group string) {
	attrs := make([]slog.Attr, 0, 7)
	attrs = append(attrs,
		slog.String("event_id", s.id.String()), slog.String("topic", s.rec.Topic),
		slog.Int("partition", int(s.rec.Partition)), slog.Int64("offset", s.rec.Offset), slog.String("group", group),
		slog.Bool("in_batch", s.inBatch))
	if !s.processedAt.IsZero() {
		attrs = append(attrs, slog.Time("processed_at", s.processedAt))
	}
	logger.LogAttrs(ctx, auditLevel, "duplicate skipped", attrs...)
}

// processedAtSQL asks when events were marked. It runs after the marks of the same
// transaction, which waited for whoever else was making one of them, and as a statement
// of its own sees what they committed.
func processedAtSQL(table string) string {
	return `SELECT event_id, processed_at FROM ` + table + ` WHERE event_id OPERATOR(pg_catalog.=) ANY ($1::pg_catalog.uuid[]) AND consumer_group OPERATOR(pg_catalog.=) $2`
}

// skips lists the plan's duplicates for the audit: the events of p.order that are not
// among fresh, and the repeats in the batch.
func (p *plan) skips(ctx context.Context, tx pgx.Tx, sql, group string, fresh []int) ([]skip, error) {
	if len(fresh) == len(p.order) && len(p.repeated) == 0 {
		return nil, nil
	}
	var skips []skip
	var known []pgtype.UUID
	for _, event := range p.order {
		if len(fresh) > 0 && fresh[0] == event {
			fresh = fresh[1:]
			continue
		}
		skips = append(skips, skip{rec: p.items[p.itemOf[event]].rec, id: p.ids[event]})
		known = append(known, pgtype.UUID{Bytes: p.ids[event], Valid: true})
	}
	for _, event := range p.repeated {
		skips = append(skips, skip{rec: p.items[p.itemOf[event]].rec, id: p.ids[event], inBatch: true})
	}
	if len(known) == 0 {
		return skips, nil
	}
	rows, err := tx.Query(ctx, sql, known, group)
	if err != nil {
		return nil, &databaseError{doing: "asking when duplicates were processed", err: err}
	}
	marked := make(map[uuid.UUID]time.Time, len(known))
	var id pgtype.UUID
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error {
		marked[id.Bytes] = at
		return nil
	})
	if err != nil {
		return nil, &databaseError{doing: "asking when duplicates were processed", err: fmt.Errorf("of %d events: %w", len(known), err)}
	}
	for i := range skips {
		skips[i].processedAt = marked[skips[i].id]
	}
	return skips, nil
}
