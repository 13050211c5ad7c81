package runtime

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// run processes batches until the assignment ends or stops.
func (l *lane) run() {
	for {
		items := l.next()
		for len(items) > 0 {
			due := l.awaitDue(items)
			if due == 0 {
				return
			}
			n, ok := l.process(items[:due])
			if !ok {
				return
			}
			items = items[n:]
		}
		if l.assignment.isClosing() {
			return
		}
	}
}

// process brings the first items, at most l.limit, to an end and returns how many
// that were. It is false when the lane must end: the assignment is over or
// stopped, and what was not completed stays uncommitted.
func (l *lane) process(items []*item) (int, bool) {
	a := l.assignment
	c := a.consumer
	alike, calls := a.handledAlike(items)
	items = items[:alike]
	if calls != nil {
		return l.processCalls(calls, items)
	}
	for attempt := 1; ; attempt++ {
		if attempt > 1 && a.isClosing() {
			return 0, false
		}
		run := items[:min(len(items), l.limit)]
		out, err := l.attempt(run)
		var failure *txFailure
		if errors.As(err, &failure) && failure.verdict == guilty && a.ctx.Err() == nil {
			c.cfg.Logger.Warn("batch failed by a record's fault; isolating it",
				"group", c.cfg.Group, "topic", a.topic, "partition", a.id, "offset", run[0].rec.Offset, "error", err)
			a.countIsolation()
			out, err = l.isolate(run, failure)
		}
		if err == nil {
			l.limit = min(c.cfg.BatchSize, l.limit*2)
			return len(run), l.settle(out)
		}
		if a.ctx.Err() != nil || errors.Is(err, errEnding) || !l.handleFailure(run, attempt, err) {
			return 0, false
		}
	}
}

// handleFailure decides, after an attempt at items that settled nothing, whether
// to try again, and waits before it says so.
func (l *lane) handleFailure(items []*item, attempt int, err error) bool {
	a := l.assignment
	c := a.consumer
	if errors.Is(err, seam.ErrCrash) {
		c.fail(err)
		return false
	}
	var failure *txFailure
	if !errors.As(err, &failure) {
		failure = &txFailure{verdict: retry, err: err}
	}
	at := items[0].rec
	if failure.item != nil {
		at = failure.item.rec
	}
	alarm := Alarm{
		Kind: AlarmRetrying, Topic: a.topic, Partition: a.id, Offset: at.Offset, EventID: failure.eventID,
		Attempt: attempt, Err: err,
	}
	if isTimeout(err) {
		l.limit = max(1, len(items)/2)
	}
	a.countRetry(err)
	c.cfg.Logger.Warn("batch failed; trying again", "group", c.cfg.Group, "topic", a.topic, "partition", a.id,
		"offset", at.Offset, "attempt", attempt, "error", err)
	var noConn *poolError
	if repeats(attempt) || attempt == 1 && (failure.verdict == environment || errors.As(err, &noConn)) {
		c.alarmLater(alarm)
	}
	if isMissingPartition(err) {
		c.repairPartitions(a.ctx)
	}
	return l.backOff(attempt)
}

// pauseFrom is the attempt from which on the partition is not fetched while it
// waits. Resuming costs up to a fetch's wait at the broker, so what heals at once
// is not worth a pause; the buffer's limit holds anyway.
const pauseFrom = 4

// backOff waits, in the end with the partition paused. It is false if the
// assignment ended meanwhile.
func (l *lane) backOff(attempt int) bool {
	a := l.assignment
	if attempt >= pauseFrom {
		a.setRetrying(1)
		defer a.setRetrying(-1)
	}
	timer := time.NewTimer(backoff(a.consumer.cfg, attempt))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-a.closing:
		return false
	case <-a.ctx.Done():
		return false
	}
}

// backoff returns a random wait of up to the attempt's exponential bound, and at
// least BackoffMin.
func backoff(cfg Config, attempt int) time.Duration {
	bound := cfg.BackoffMax
	if attempt < 30 {
		bound = min(bound, cfg.BackoffMin<<(attempt-1))
	}
	if bound <= cfg.BackoffMin {
		return cfg.BackoffMin
	}
	return cfg.BackoffMin + rand.N(bound-cfg.BackoffMin)
}

// settle does what follows the commit: dead letters, then the watermark. It is
// false when the lane must end.
func (l *lane) settle(out *outcome) bool {
	a := l.assignment
	c := a.consumer
	for _, failed := range out.failed {
		if !l.deadLetter(failed) {
			return false
		}
	}
	for _, q := range out.refused {
		c.cfg.Logger.Warn("event quarantined", "", q)
	}
	for _, s := range out.skips {
		s.log(a.ctx, c.cfg.Logger, c.cfg.Group)
	}
	a.countBatch(out) // before its offset can be seen to be committed
	a.complete(out.items)
	if err := c.step(seam.AfterWatermark); err != nil {
		c.fail(err)
		return false
	}
	if out.stop == nil {
		return true
	}
	a.stop(Alarm{
		Kind: AlarmPartitionStopped, Topic: a.topic, Partition: a.id,
		Offset: out.stop.delivered.Offset, EventID: out.stop.EventID, Err: out.stop.Err,
	})
	return false
}

// deadLetter puts a record that failed out of the way, as often as it takes. It is false if
// the assignment ended before that was done.
func (l *lane) deadLetter(failed FailedRecord) bool {
	a := l.assignment
	c := a.consumer
	for attempt := 1; ; attempt++ {
		err := l.putFailed(failed)
		if errors.Is(err, seam.ErrCrash) {
			c.fail(err)
			return false
		}
		if err == nil {
			a.countFailed(failed)
			return true
		}
		if a.ctx.Err() != nil {
			return false
		}
		c.cfg.Logger.Warn("dead letter not written; trying again", "group", c.cfg.Group, "topic", a.topic, "partition", a.id,
			"offset", failed.delivered.Offset, "attempt", attempt, "error", err)
		if repeats(attempt) || attempt == 1 && errors.Is(err, context.DeadlineExceeded) {
			c.alarmLater(Alarm{
				Kind: AlarmDeadLetter, Topic: a.topic, Partition: a.id, Offset: failed.delivered.Offset,
				EventID: failed.EventID, Attempt: attempt, Err: err,
			})
		}
		if !l.backOff(attempt) {
			return false
		}
	}
}

// putFailed is one attempt to put a record out of the way.
func (l *lane) putFailed(failed FailedRecord) error {
	c := l.assignment.consumer
	if err := c.step(seam.BeforeDeadLetter); err != nil {
		return err
	}
	if err := l.assignment.putGuarded(failed); err != nil {
		return err
	}
	return c.step(seam.AfterDeadLetter)
}

func (a *assignment) putGuarded(failed FailedRecord) (err error) {
	limit := a.consumer.cfg.BatchTimeout
	defer a.watch(failed.delivered, 2*limit)()
	defer catch(&err)
	ctx, cancel := context.WithTimeoutCause(a.ctx, limit, fmt.Errorf("dead letter not written within %s: %w", limit, context.DeadlineExceeded))
	defer cancel()
	if err := a.consumer.cfg.DeadLetter.Put(ctx, failed); err != nil {
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		return err
	}
	return nil
}

// watch raises an alarm, and then again after ever longer times, unless the returned
// function is called within limit. Only user code takes longer: all else is bounded.
func (a *assignment) watch(rec *kgo.Record, limit time.Duration) (done func()) {
	var mu sync.Mutex
	var timer *time.Timer
	attempt := 0
	began := time.Now()
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(limit, func() {
		mu.Lock()
		defer mu.Unlock()
		if timer == nil {
			return
		}
		attempt++
		if attempt == 1 {
			a.consumer.stuck.Add(1)
			a.setRetrying(1)
		}
		timer.Reset(limit << min(attempt, 6))
		a.consumer.alarmLater(Alarm{
			Kind: AlarmStuck, Topic: a.topic, Partition: a.id, Offset: rec.Offset, Attempt: attempt,
			Err: fmt.Errorf("not done for %s although the time is up: a handler, decoder, quarantine or dead letter does not return", time.Since(began).Round(time.Millisecond)),
		})
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
		timer = nil
		if attempt > 0 {
			a.consumer.stuck.Add(-1)
			a.setRetrying(-1)
		}
	}
}
