package runtime

import (
	"errors"
	"slices"

	"github.com/google/uuid"
)

// processCalls is process for a handler in two transactions: it brings the first
// items, at most as many as calls are made at once, to an end.
func (l *lane) processCalls(s callSettings, items []*item) (int, bool) {
	a := l.assignment
	c := a.consumer
	run := items[:min(len(items), s.parallel)]
	pending, limit := run, len(run)
	// Results that could not be written yet are kept, not asked for again.
	answers := make(map[uuid.UUID]any)
	var held []uuid.UUID // intents in hand
	defer func() { l.releaseIntents(s.step, held) }()
	for attempt := 1; len(pending) > 0; attempt++ {
		if attempt > 1 && a.isClosing() {
			return 0, false
		}
		r := l.newCallRound(s, pending[:min(limit, len(pending))], answers)
		err := r.run()
		held = r.held()
		if r.settled != nil && !l.settle(r.settled) {
			return 0, false
		}
		left := r.leftItems()
		progress := len(left) < len(r.plan.items)
		if progress {
			attempt = 1
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
				c.stats.isolations.Add(1)
				limit = 1
				continue
			}
			if !l.settle(l.guilty(left, failure)) {
				return 0, false
			}
			l.releaseIntents(s.step, held)
			held, pending = nil, pending[len(left):]
		case a.ctx.Err() != nil || !l.handleFailure(left, attempt, err):
			return 0, false
		}
	}
	held = nil
	l.limit = min(c.cfg.BatchSize, l.limit*2)
	return len(run), true
}

// guilty is what becomes of the one item that failed by its own fault.
func (l *lane) guilty(items []*item, failure *txFailure) *outcome {
	c := l.assignment.consumer
	failed := FailedRecord{Record: items[0].rec, Group: c.cfg.Group, EventID: failure.eventID, Err: failure.err}
	if c.cfg.DeadLetter == nil {
		return &outcome{stop: &failed}
	}
	return &outcome{items: items, failed: []FailedRecord{failed}}
}
