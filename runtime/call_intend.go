package runtime

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// intend runs the first transaction.
func (r *callRound) intend(out *outcome) error {
	a := r.lane.assignment
	var ask []uuid.UUID
	for _, i := range r.plan.order {
		if id := r.plan.ids[i]; r.answers[id] == nil {
			ask = append(ask, id)
		}
	}
	if len(ask)+len(r.plan.refused) == 0 {
		return nil
	}
	var t intending
	err := r.transact(func(ctx context.Context, tx *batchTx) error {
		t = intending{callRound: r}
		return t.run(ctx, tx, ask)
	})
	if err != nil {
		return r.plan.attribute(err)
	}
	maps.Copy(r.intents, t.acquired)
	out.duplicates += len(t.done)
	out.refused = append(out.refused, t.expired...)
	out.skips = append(out.skips, t.skips...)
	for _, i := range t.held {
		r.left[i] = errHeld
	}
	if err := a.consumer.dbStep(seam.AfterIntent); err != nil {
		return r.interrupted(out, err)
	}
	return nil
}

// intending is the first transaction of a round.
type intending struct {
	*callRound
	done     map[uuid.UUID]bool
	acquired map[uuid.UUID]intent
	expired  []Quarantined
	skips    []skip
	held     []int // by others
}

func (t *intending) run(ctx context.Context, tx *batchTx, ask []uuid.UUID) error {
	c := t.lane.assignment.consumer
	if len(t.plan.refused) > 0 {
		if err := putRefused(ctx, c.quarantine, tx.raw, t.plan.refused); err != nil {
			return &databaseError{doing: "writing the quarantine", err: err}
		}
	}
	if err := t.acquire(ctx, tx, ask); err != nil {
		return err
	}
	var fresh []int
	for _, i := range t.plan.order {
		id := t.plan.ids[i]
		in, ours := t.acquired[id]
		switch {
		case ours && in.request == nil:
			fresh = append(fresh, i)
		case !ours && !t.done[id] && t.answers[id] == nil:
			t.held = append(t.held, i)
		}
	}
	if err := t.park(ctx, tx); err != nil {
		return err
	}
	if t.plan.audit {
		sub := t.plan.only(slices.DeleteFunc(slices.Clone(t.plan.order), func(i int) bool { return !t.done[t.plan.ids[i]] }))
		var err error
		if t.skips, err = sub.skips(ctx, tx.raw, c.processedAtSQL, c.cfg.Group, nil); err != nil {
			return err
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	if err := runHandlers(ctx, tx, t.batch.intents(), fresh); err != nil {
		return err
	}
	if err := c.dbStep(seam.AfterHandlers); err != nil {
		return err
	}
	for _, i := range fresh {
		in := t.acquired[t.plan.ids[i]]
		in.request = t.batch.request(i)
		t.acquired[t.plan.ids[i]] = in
	}
	return tx.session.flush(ctx)
}

// acquire takes the intents of the events that are not processed. The marks are looked
// up before, which spares a duplicate the writing, and for new intents after: the event
// may have been brought to its end, and its intent taken away, in between.
func (t *intending) acquire(ctx context.Context, tx *batchTx, ask []uuid.UUID) error {
	c := t.lane.assignment.consumer
	var err error
	if t.done, err = c.processedOf(ctx, tx.raw, ask); err != nil {
		return err
	}
	want := slices.DeleteFunc(slices.Clone(ask), func(id uuid.UUID) bool { return t.done[id] })
	if t.lane.lease == uuid.Nil {
		t.lane.lease = uuid.New()
	}
	// No call begins after one timeout, and none takes longer than another. The third
	// is for the way to the first of them and the way back.
	term := 3 * t.settings.timeout
	if t.acquired, err = c.acquireIntents(ctx, tx.raw, t.settings.step, t.lane.lease, term, want); err != nil {
		return err
	}
	var fresh []uuid.UUID
	for id, in := range t.acquired {
		if in.request == nil {
			fresh = append(fresh, id)
		}
	}
	late, err := c.processedOf(ctx, tx.raw, fresh)
	if err != nil {
		return err
	}
	for id := range late {
		t.done[id] = true
		delete(t.acquired, id)
	}
	if err := c.execIntents(ctx, tx.raw, "taking intents of processed events back", c.intents.finish, t.settings.step, slices.Collect(maps.Keys(late))); err != nil {
		return err
	}
	return c.dbStep(seam.AfterMark)
}

// park leaves the intents to a person that are too old for their keys.
func (t *intending) park(ctx context.Context, tx *batchTx) error {
	c := t.lane.assignment.consumer
	if c.cfg.KeyLifetime < 0 {
		return nil
	}
	var ids []uuid.UUID
	for _, i := range t.plan.order {
		id := t.plan.ids[i]
		in, ours := t.acquired[id]
		if !ours || in.age < c.cfg.KeyLifetime {
			continue
		}
		ids = append(ids, id)
		delete(t.acquired, id)
		t.expired = append(t.expired, t.quarantined(i, &KeyExpiredError{EventID: id, Since: in.began, Lifetime: c.cfg.KeyLifetime}))
	}
	return t.parkAll(ctx, tx, ids, t.expired)
}
