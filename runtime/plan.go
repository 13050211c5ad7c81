package runtime

import (
	"bytes"
	"cmp"
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
	// byID holds the same events in ascending order of their ids, nil if they are not
	// sorted yet.
	byID []int
	// ids and itemOf are indexed like the batch's events.
	ids    []uuid.UUID
	itemOf []int // position in items

	// repeated holds the repeats by index, in partition order.
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
	order, byID, itemOf []int
	ids, inserted       []uuid.UUID
	marks               []pgtype.UUID
	queue               []queuedStatement
	args                []any
}

// plan decodes records and sorts out those that no SQL is needed for. It is valid
// until the lane's next.
func (l *lane) plan(items []*item) *plan { return l.planBy(l.assignment.handler, items) }

// planBy is plan for records that one handler of several handles.
func (l *lane) planBy(h handler, items []*item) *plan {
	a := l.assignment
	c := a.consumer
	mem := &l.scratch
	p := &plan{
		items:   items,
		batch:   h.newBatch(c.cfg.Decoder, len(items)),
		order:   mem.order[:0],
		ids:     mem.ids[:0],
		itemOf:  mem.itemOf[:0],
		audit:   c.cfg.Logger.Enabled(a.ctx, auditLevel),
		scratch: mem,
	}
	gate := c.maintainer.gate(c.maintainer.Now())
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
		if err = gate.check(id); err == nil {
			err = it.parked
		}
		if err != nil {
			p.refused = append(p.refused, NewQuarantined(c.cfg.Group, it.source(), id, err))
			continue
		}
		p.order = append(p.order, event)
	}
	mem.order, mem.ids, mem.itemOf = p.order, p.ids, p.itemOf
	p.dropRepeats()
	return p
}

// dropRepeats takes events out of p.order that repeat the id of one before them. It
// leaves p.byID sorted, where repeats stand side by side.
func (p *plan) dropRepeats() {
	p.byID = p.sort(p.scratch.byID[:0])
	p.scratch.byID = p.byID
	for at := 1; at < len(p.byID); at++ {
		if p.ids[p.byID[at]] == p.ids[p.byID[at-1]] {
			p.repeated = append(p.repeated, p.byID[at])
		}
	}
	if len(p.repeated) == 0 {
		return
	}
	slices.Sort(p.repeated)
	p.byID = slices.CompactFunc(p.byID, func(x, y int) bool { return p.ids[x] == p.ids[y] })
	p.order = slices.DeleteFunc(p.order, func(event int) bool {
		_, repeated := slices.BinarySearch(p.repeated, event)
		return repeated
	})
}

// sort appends the events of p.order to events, which is empty, in ascending order of
// their ids, and those of one id in partition order.
func (p *plan) sort(events []int) []int {
	events = append(events, p.order...)
	slices.SortFunc(events, func(x, y int) int {
		return cmp.Or(bytes.Compare(p.ids[x][:], p.ids[y][:]), x-y)
	})
	return events
}

// only returns p with some of its events.
func (p *plan) only(order []int) *plan {
	some := *p
	some.order, some.byID = order, nil
	return &some
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
	if p.byID == nil {
		p.byID = p.sort(nil)
	}
	ids := p.scratch.marks[:0]
	for _, i := range p.byID {
		ids = append(ids, pgtype.UUID{Bytes: p.ids[i], Valid: true})
	}
	p.scratch.marks = ids
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
