package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

var (
	// errHeld says that another consumer makes the call.
	errHeld = errors.New("another consumer has the call in hand")
	// errNotBegun says that a call was put off: its turn did not come in time, or an
	// earlier event of its key is not done.
	errNotBegun = errors.New("call not begun")
)

// A callRound is one attempt at a run of records whose events are calls: intents,
// calls, results.
type callRound struct {
	lane     *lane
	settings callSettings
	plan     *plan
	ctx      context.Context
	items    []*item
	batch    calls
	answers  map[uuid.UUID]any // of calls whose result is to be written

	intents map[uuid.UUID]intent
	left    map[int]error // events that are not done, and why
	called  map[int]bool  // of left: the outcome is unknown
	refused map[int]error // events whose call definitely failed
	settled *outcome      // nil while nothing is
}

func (l *lane) newCallRound(h caller, items []*item, answers map[uuid.UUID]any) *callRound {
	r := &callRound{
		lane: l, items: items, settings: h.settings(), plan: l.planBy(h, items), answers: answers,
		intents: make(map[uuid.UUID]intent), left: make(map[int]error), called: make(map[int]bool), refused: make(map[int]error),
	}
	r.batch = r.plan.batch.(calls)
	if len(r.plan.items) > 0 {
		r.plan.stop = nil // it comes again as the first record of another round
	}
	return r
}

// held returns the events whose intents may be under this lane's lease.
func (r *callRound) held() []uuid.UUID { return slices.Collect(maps.Keys(r.intents)) }

// leftItems returns the records that are not settled.
func (r *callRound) leftItems() []*item {
	if r.settled == nil {
		return r.plan.items
	}
	var items []*item
	for _, i := range r.plan.order {
		if r.left[i] != nil {
			items = append(items, r.plan.items[r.plan.itemOf[i]])
		}
	}
	return items
}

// waitsForOthers tells whether something is left that only time brings on.
func (r *callRound) waitsForOthers() bool {
	for _, why := range r.left {
		if why == errHeld {
			return true
		}
	}
	return false
}

// run makes the attempt, under a span of its own. Its error is a *txFailure, and then
// what settled holds is done all the same.
func (r *callRound) run() error {
	ctx, observed := r.lane.assignment.observe(r.items)
	r.ctx = ctx
	err := r.try()
	observed(r.settled, err)
	return err
}

func (r *callRound) try() error {
	c := r.lane.assignment.consumer
	if len(r.plan.items) > 0 {
		limit := 2 * (2*c.cfg.BatchTimeout + 2*r.settings.timeout)
		defer r.lane.assignment.watch(r.plan.items[0].rec, limit)()
	}
	if err := c.dbStep(seam.AfterDecode); err != nil {
		return &txFailure{verdict: retry, err: err}
	}
	out := r.plan.outcome()
	if err := r.intend(out); err != nil {
		return err
	}
	r.call()
	if err := c.dbStep(seam.AfterCall); err != nil {
		return r.interrupted(out, err)
	}
	err := r.conclude(out)
	if err != nil {
		return r.interrupted(out, err)
	}
	r.settle(out)
	r.lane.assignment.metrics.committed(r.ctx, out.items, c.clock())
	return r.unknown()
}

// interrupted leaves everything that was to be called or written to the next round. What
// the first transaction has settled stays settled.
func (r *callRound) interrupted(out *outcome, err error) error {
	for _, i := range r.plan.order {
		if _, ours := r.intents[r.plan.ids[i]]; ours || r.answers[r.plan.ids[i]] != nil {
			r.left[i] = err
		}
	}
	r.settle(out)
	var failure *txFailure
	if errors.As(err, &failure) {
		return err
	}
	return &txFailure{verdict: retry, err: err}
}

// settle lists the items that are done.
func (r *callRound) settle(out *outcome) {
	leftItems := make(map[int]bool)
	for i := range r.left {
		leftItems[r.plan.itemOf[i]] = true
	}
	out.items = nil
	for at, it := range r.plan.items {
		if !leftItems[at] {
			out.items = append(out.items, it)
		}
	}
	r.settled = out
}

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

// transact runs one of the two transactions.
func (r *callRound) transact(work func(context.Context, *batchTx) error) error {
	a := r.lane.assignment
	emitted := false
	err := a.transact(r.ctx, func(ctx context.Context, tx *batchTx) error {
		tx.session.use(&r.lane.scratch)
		defer tx.session.giveBack(&r.lane.scratch)
		err := work(ctx, tx)
		emitted = tx.session.emitted
		return err
	})
	if err == nil && emitted {
		a.consumer.wakeRelay()
	}
	return err
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
		sub := *t.plan
		sub.order = slices.DeleteFunc(slices.Clone(t.plan.order), func(i int) bool { return !t.done[t.plan.ids[i]] })
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

func (r *callRound) quarantined(i int, err error) Quarantined {
	return NewQuarantined(r.lane.assignment.consumer.cfg.Group, r.plan.items[r.plan.itemOf[i]].source(), r.plan.ids[i], err)
}

func (r *callRound) parkAll(ctx context.Context, tx *batchTx, ids []uuid.UUID, records []Quarantined) error {
	c := r.lane.assignment.consumer
	if len(ids) == 0 {
		return nil
	}
	if err := putRefused(ctx, c.quarantine, tx.raw, records); err != nil {
		return &databaseError{doing: "writing the quarantine", err: err}
	}
	return c.execIntents(ctx, tx.raw, "parking calls", c.intents.park, r.settings.step, ids)
}

// call makes the calls that are in hand: those of one key in order, others side by side.
func (r *callRound) call() {
	var keys []string
	byKey := make(map[string][]int)
	for _, i := range r.plan.order {
		if _, ours := r.intents[r.plan.ids[i]]; !ours && r.left[i] == nil {
			continue // settled, or its answer is there
		}
		key := string(r.plan.items[r.plan.itemOf[i]].rec.Key)
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], i)
	}
	begun := time.Now()
	var mu sync.Mutex // guards the round's maps
	var wg sync.WaitGroup
	for _, key := range keys {
		wg.Go(func() { r.callInOrder(&mu, begun, byKey[key]) })
	}
	wg.Wait()
}

// callInOrder makes the calls of one key until one is not done.
func (r *callRound) callInOrder(mu *sync.Mutex, begun time.Time, events []int) {
	a := r.lane.assignment
	goOn := true
	for _, i := range events {
		id := r.plan.ids[i]
		mu.Lock()
		if r.left[i] != nil {
			goOn = false
		} else if !goOn || a.isClosing() || time.Since(begun) >= r.settings.timeout {
			goOn, r.left[i] = false, errNotBegun
		}
		request := r.intents[id].request
		mu.Unlock()
		if !goOn {
			continue
		}
		answer, err := r.batch.do(r.ctx, i, request)
		mu.Lock()
		var definite *definiteError
		switch {
		case err == nil:
			r.answers[id] = answer
		case errors.As(err, &definite):
			r.refused[i] = err
			goOn = a.consumer.cfg.DeadLetter != nil // else the partition stops here
		default:
			r.left[i], r.called[i] = err, true
			goOn = false
		}
		mu.Unlock()
	}
}

// conclude runs the second transaction.
func (r *callRound) conclude(out *outcome) error {
	a := r.lane.assignment
	c := a.consumer
	t := concluding{callRound: r}
	t.sort()
	if len(t.answered)+len(r.intents) > 0 {
		if err := r.transact(t.run); err != nil {
			sub := *r.plan
			sub.order = t.answered
			return sub.attribute(err)
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
	sub := *t.plan
	sub.order = t.answered
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

// unknown returns the first call whose outcome is unknown as a failure to be tried
// again, or nil.
func (r *callRound) unknown() error {
	for _, i := range r.plan.order {
		if r.left[i] == nil || !r.called[i] {
			continue
		}
		id := r.plan.ids[i]
		return &txFailure{
			verdict: retry, item: r.plan.items[r.plan.itemOf[i]], eventID: id,
			err: fmt.Errorf("call %q of event %s, whose outcome is unknown: %w", r.settings.step, id, r.left[i]),
		}
	}
	return nil
}
