package runtime

import (
	"context"
	"errors"
	"fmt"
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
