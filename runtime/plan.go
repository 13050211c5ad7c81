package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// A plan is what an attempt is going to do with a run of records: which of them
// are events to mark and handle, and what the others are.
type plan struct {
	// items are the records covered: all that were asked for or, if one of them
	// stops the partition, those before it.
	items []*item
	batch batch
	// order holds the batch's events by index, in partition order, without repeats.
	order []int
	// ids and itemOf are indexed like the batch's events.
	ids    []uuid.UUID
	itemOf []int // position in items

	repeats int
	// repeated holds the repeats by index, for the audit, if it is on.
	repeated []int
	audit    bool
	skipped  int
	refused  []Quarantined
	failed   []FailedRecord // undecodable, for Config.DeadLetter
	stop     *FailedRecord  // the record after items, which stops the partition

	scratch *scratch
}

// scratch is memory that a lane uses again for its next attempt.
type scratch struct {
	order, itemOf []int
	ids, inserted []uuid.UUID
	seen          map[uuid.UUID]struct{}
	sorted        []pgtype.UUID
	queue         []queuedStatement
	args          []any
}

// plan decodes records and sorts out those that no SQL is needed for. It is valid
// until the lane's next.
func (l *lane) plan(items []*item) *plan { return l.planBy(l.assignment.handler, items) }

// planBy is plan for records that one handler of several handles.
func (l *lane) planBy(h handler, items []*item) *plan {
	a := l.assignment
	c := a.consumer
	mem := &l.scratch
	if mem.seen == nil {
		mem.seen = make(map[uuid.UUID]struct{}, len(items))
	}
	clear(mem.seen)
	p := &plan{
		items:   items,
		batch:   h.newBatch(c.cfg.Decoder, len(items)),
		order:   mem.order[:0],
		ids:     mem.ids[:0],
		itemOf:  mem.itemOf[:0],
		audit:   c.cfg.Logger.Enabled(a.ctx, auditLevel),
		scratch: mem,
	}
	defer func() { mem.order, mem.ids, mem.itemOf = p.order, p.ids, p.itemOf }()
	now := c.maintainer.Now()
	seen := mem.seen
	for i, it := range items {
		id, err := p.decode(it)
		if errors.Is(err, ErrSkip) {
			p.skipped++
			continue
		}
		if err != nil {
			failed := it.failed(c.cfg.Group, 1, fmt.Errorf("decoding: %w", err))
			failed.hopeless = true
			if c.cfg.DeadLetter == nil {
				p.stop, p.items = &failed, items[:i]
				break
			}
			p.failed = append(p.failed, failed)
			continue
		}
		event := len(p.ids)
		p.ids, p.itemOf = append(p.ids, id), append(p.itemOf, i)
		err = c.maintainer.Check(id, now)
		if err == nil {
			err = it.parked
		}
		if err != nil {
			p.refused = append(p.refused, NewQuarantined(c.cfg.Group, it.source(), id, err))
			continue
		}
		if _, repeated := seen[id]; repeated {
			p.repeats++
			if p.audit {
				p.repeated = append(p.repeated, event)
			}
			continue
		}
		seen[id] = struct{}{}
		p.order = append(p.order, event)
	}
	return p
}

// decode adds a record's event to the batch.
func (p *plan) decode(it *item) (uuid.UUID, error) {
	if it.origin != nil && it.origin.err != nil {
		return uuid.Nil, it.origin.err
	}
	return p.batch.decode(it.source())
}

// attribute names the record in a *txFailure that a handler caused.
func (p *plan) attribute(err error) error {
	var failure *txFailure
	var of *recordError
	if !errors.As(err, &failure) || !errors.As(err, &of) {
		return err
	}
	event := of.index
	if event < 0 && len(p.order) == 1 {
		event = p.order[0]
	}
	if event >= 0 {
		failure.item, failure.eventID = p.items[p.itemOf[event]], p.ids[event]
	}
	return err
}

// needsDatabase tells whether there is anything to write.
func (p *plan) needsDatabase() bool { return len(p.order)+len(p.refused) > 0 }

// sortedIDs returns the ids of p.order in ascending order. All transactions
// insert marks in this order, so that two of them that share ids cannot wait
// for each other.
func (p *plan) sortedIDs() []pgtype.UUID {
	ids := p.scratch.sorted[:0]
	for _, i := range p.order {
		ids = append(ids, pgtype.UUID{Bytes: p.ids[i], Valid: true})
	}
	p.scratch.sorted = ids
	slices.SortFunc(ids, func(x, y pgtype.UUID) int { return bytes.Compare(x.Bytes[:], y.Bytes[:]) })
	return ids
}

// markSQL inserts the marks of a batch and returns the ids that had none. It
// names the key, so that PostgreSQL refuses it (42P10) on a table where
// (event_id, consumer_group) is not unique and nothing would be deduplicated. The
// table is named with its schema: a connection's search_path may be what an earlier
// handler made it.
func markSQL(table string) string {
	return `INSERT INTO ` + table + ` (event_id, consumer_group)
SELECT pg_catalog.unnest($1::pg_catalog.uuid[]), $2
ON CONFLICT (event_id, consumer_group) DO NOTHING
RETURNING event_id`
}

// mark inserts the marks of p.order and returns those events that had none, in
// partition order.
func (p *plan) mark(ctx context.Context, tx pgx.Tx, sql, group string) ([]int, error) {
	if len(p.order) == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, sql, p.sortedIDs(), group)
	if err != nil {
		return nil, &databaseError{doing: "marking events as processed", err: err}
	}
	inserted := p.scratch.inserted[:0]
	var id pgtype.UUID
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error {
		inserted = append(inserted, id.Bytes)
		return nil
	})
	if err != nil {
		return nil, &databaseError{doing: "marking events as processed", err: err}
	}
	p.scratch.inserted = inserted
	if len(inserted) == len(p.order) {
		return p.order, nil
	}
	fresh := make(map[uuid.UUID]struct{}, len(inserted))
	for _, id := range inserted {
		fresh[id] = struct{}{}
	}
	return slices.DeleteFunc(slices.Clone(p.order), func(i int) bool {
		_, ok := fresh[p.ids[i]]
		return !ok
	}), nil
}
