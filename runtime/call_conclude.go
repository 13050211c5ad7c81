package runtime

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// conclude runs the second transaction.
func (r *callRound) conclude(out *outcome) error {
	a := r.lane.assignment
	c := a.consumer
	t := concluding{callRound: r}
	t.sort()
	if len(t.answered)+len(r.intents) > 0 {
		if err := r.transact(t.run); err != nil {
			return r.plan.only(t.answered).attribute(err)
		}
	}
	out.processed += t.fresh
	out.duplicates += len(t.answered) - t.fresh
	out.refused = append(out.refused, t.parked...)
	out.skips = append(out.skips, t.skips...)
	for _, i := range t.parkedEvents {
		delete(r.left, i)
	}
	for _, i := range r.plan.order {
		if err := r.refused[i]; err != nil {
			failed := r.plan.items[r.plan.itemOf[i]].failed(c.cfg.Group, 1, fmt.Errorf("call %q: %w", r.settings.step, err))
			failed.EventID, failed.hopeless = r.plan.ids[i], true
			r.fail(out, failed, i)
		}
	}
	return nil
}

// fail adds a call that definitely failed. Without a dead letter the first one stops the
// partition, and it and any other stay what they are.
func (r *callRound) fail(out *outcome, failed FailedRecord, i int) {
	if r.lane.assignment.consumer.cfg.DeadLetter != nil {
		out.failed = append(out.failed, failed)
		return
	}
	r.left[i] = failed.Err
	if out.stop == nil {
		out.stop = &failed
	}
}

// concluding is the second transaction of a round.
type concluding struct {
	*callRound
	answered     []int               // events whose result is there, in partition order
	over         []uuid.UUID         // whose intents go
	unknown      map[uuid.UUID]error // whose calls failed in an unknown way
	notBegun     []uuid.UUID
	parked       []Quarantined
	parkedEvents []int
	fresh        int // of answered, those that nobody else had concluded
	skips        []skip
}

// sort decides what becomes of each event.
func (t *concluding) sort() {
	t.unknown = make(map[uuid.UUID]error)
	for _, i := range t.plan.order {
		id := t.plan.ids[i]
		in, ours := t.intents[id]
		switch {
		case t.answers[id] != nil:
			t.answered, t.over = append(t.answered, i), append(t.over, id)
		case t.refused[i] != nil:
			t.over = append(t.over, id)
		case t.called[i]:
			t.unknown[id] = t.left[i]
			if limit := t.settings.parkAfter; limit > 0 && in.age >= limit {
				t.parkedEvents = append(t.parkedEvents, i)
				t.parked = append(t.parked, t.quarantined(i, &CallUnknownError{EventID: id, Step: t.settings.step, Age: in.age, Err: t.left[i]}))
			}
		case ours:
			t.notBegun = append(t.notBegun, id)
		}
	}
}

func (t *concluding) run(ctx context.Context, tx *batchTx) error {
	c := t.lane.assignment.consumer
	sub := t.plan.only(t.answered)
	fresh, err := sub.mark(ctx, tx.raw, c.markSQL, c.cfg.Group)
	if err != nil {
		return err
	}
	t.fresh = len(fresh)
	if t.plan.audit {
		sub.repeated = nil // known from the first transaction
		if t.skips, err = sub.skips(ctx, tx.raw, c.processedAtSQL, c.cfg.Group, fresh); err != nil {
			return err
		}
	}
	if err := c.dbStep(seam.AfterMark); err != nil {
		return err
	}
	if len(fresh) > 0 {
		if err := runHandlers(ctx, tx, t.batch.results(t.answers), fresh); err != nil {
			return err
		}
		if err := c.dbStep(seam.AfterHandlers); err != nil {
			return err
		}
		if err := tx.session.flush(ctx); err != nil {
			return err
		}
	}
	step := t.settings.step
	if err := c.execIntents(ctx, tx.raw, "taking intents of concluded calls away", c.intents.finish, step, t.over); err != nil {
		return err
	}
	if err := c.leaveIntents(ctx, tx.raw, step, t.unknown); err != nil {
		return err
	}
	if err := c.execIntents(ctx, tx.raw, "giving leases up", c.intents.release, step, t.notBegun, plainArg(t.lane.lease)); err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(t.parkedEvents))
	for n, i := range t.parkedEvents {
		ids[n] = t.plan.ids[i]
	}
	return t.parkAll(ctx, tx, ids, t.parked)
}
