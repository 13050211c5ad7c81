package runtime

import (
	"errors"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// handledAlike returns how many of the first items are either all calls of one handler,
// which it returns, or none. A topic that brings records of others back has both.
func (a *assignment) handledAlike(items []*item) (int, caller) {
	back, ok := a.handler.(*redeliveryHandler)
	if !ok {
		h, _ := a.handler.(caller)
		return len(items), h
	}
	of := func(it *item) caller {
		h, _ := back.handlers[it.source().Topic].(caller)
		return h
	}
	first, n := of(items[0]), 1
	for n < len(items) && of(items[n]) == first {
		n++
	}
	return n, first
}

// processCalls is process for a handler in two transactions: it brings the first
// items, at most as many as calls are made at once, to an end.
func (l *lane) processCalls(h caller, items []*item) (int, bool) {
	a := l.assignment
	c := a.consumer
	s := h.settings()
	run := items[:min(len(items), s.parallel)]
	pending, limit := run, len(run)
	// Results that could not be written yet are kept, not asked for again.
	answers := make(map[uuid.UUID]any)
	held := make(map[uuid.UUID]bool) // events whose intents may be under this lane's lease
	alone := 0                       // failed attempts at pending[0] by itself
	defer func() { l.releaseIntents(s.step, slices.Collect(maps.Keys(held))) }()
	for attempt := 1; len(pending) > 0; attempt++ {
		if attempt > 1 && a.isClosing() {
			return 0, false
		}
		r := l.newCallRound(h, pending[:min(limit, len(pending))], answers)
		err := r.run()
		for id := range r.intents {
			held[id] = true
		}
		if r.settled != nil && !l.settle(r.settled) {
			return 0, false
		}
		left := r.leftItems()
		progress := len(left) < len(r.plan.items)
		if progress {
			attempt, alone = 1, 0
		}
		pending = slices.Concat(left, pending[len(r.plan.items):])

		var failure *txFailure
		switch {
		case err == nil && (len(left) == 0 || progress && !r.waitsForOthers()):
			continue
		case err == nil:
			if !l.backOff(min(attempt, pauseFrom)) {
				return 0, false
			}
		case errors.As(err, &failure) && failure.verdict == guilty && a.ctx.Err() == nil:
			if park(failure) {
				continue
			}
			if len(left) > 1 {
				c.cfg.Logger.Warn("calls failed by a record's fault; isolating it",
					"group", c.cfg.Group, "topic", a.topic, "partition", a.id, "offset", left[0].rec.Offset, "error", err)
				a.countIsolation()
				limit = 1
				continue
			}
			if alone++; l.mayTryAgain(failure, alone) {
				if !l.waitAlone(left[0], failure, alone) {
					return 0, false
				}
				continue
			}
			if !l.abandon(s, left[0], alone, failure, r.plan.ids) {
				return 0, false
			}
			pending, alone = pending[1:], 0
		case a.ctx.Err() != nil || !l.handleFailure(left, attempt, err):
			return 0, false
		}
	}
	clear(held)
	l.limit = min(c.cfg.BatchSize, l.limit*2)
	return len(run), true
}

// abandon is the end of a record that has failed for good, alone among events. It may come
// again at once, by another lane. It is false if it is the end of this lane, too.
func (l *lane) abandon(s callSettings, it *item, attempts int, failure *txFailure, events []uuid.UUID) bool {
	out := &outcome{}
	l.giveUp(out, it, attempts, failure)
	if !l.settle(out) {
		return false
	}
	l.releaseIntents(s.step, events)
	return true
}
