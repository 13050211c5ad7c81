package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// trouble is what a partition's fetches have failed with since they worked.
type trouble struct {
	count int
	since time.Time
	last  time.Time
	told  time.Duration // after which the next alarm is due
}

const (
	// passing is how long an error that the client recovers from by itself, such as
	// a leader that moves, may last before it is worth an alarm.
	passing = 10 * time.Second
	// over is how long there must be no failure for the next one to be a new trouble.
	over = 2 * time.Minute
	// maxRefetch bounds the wait before an error of that kind is tried again.
	maxRefetch = time.Second
)

// again counts a failure and tells whether an alarm is due: at once for an error that
// is not passing, and then after ever longer times.
func (t *trouble) again(now time.Time, transient bool) (alarm bool) {
	if t.count > 0 && now.Sub(t.last) > over {
		*t = trouble{}
	}
	if t.count == 0 {
		t.since = now
		if transient {
			t.told = passing
		}
	}
	t.count++
	t.last = now
	if lasted := now.Sub(t.since); lasted >= t.told {
		t.told = max(passing, 6*max(t.told, lasted))
		t.told = min(t.told, lasted+10*time.Minute)
		return true
	}
	return false
}

// fetchFailed handles an error that the client reports instead of records. It lets the
// partition rest, or returns how long to wait if the error is of none that is held.
func (c *Consumer) fetchFailed(ctx context.Context, p partition, troubles map[partition]*trouble, err error) time.Duration {
	if errors.Is(err, context.Canceled) {
		return 0
	}
	a := c.assignment(p)
	var loss *kgo.ErrDataLoss
	if a != nil && (errors.Is(err, kerr.OffsetOutOfRange) || errors.As(err, &loss)) {
		c.outOfRange(a, err)
		return 0
	}
	if troubles[p] == nil {
		troubles[p] = &trouble{}
	}
	t := troubles[p]
	transient := kerr.IsRetriable(err)
	due := t.again(time.Now(), transient)
	if due || !transient {
		c.cfg.Logger.Warn("fetching failed", "group", c.cfg.Group, "topic", p.topic, "partition", p.id, "attempt", t.count, "error", err)
	}
	if due {
		c.alarmLater(Alarm{Kind: AlarmFetch, Topic: p.topic, Partition: p.id, Offset: position(a), Attempt: t.count, Err: err})
	}
	wait := backoff(c.cfg, t.count)
	if transient {
		wait = min(wait, maxRefetch)
	}
	if a == nil {
		return min(wait, maxRefetch)
	}
	a.rest(wait)
	return 0
}

// position is where an assignment stands, -1 without one.
func position(a *assignment) int64 {
	if a == nil {
		return -1
	}
	return a.waiting()
}

// outOfRange stops a partition whose log does not hold what is to be read next, and
// asks the broker what it does hold for the alarm.
func (c *Consumer) outOfRange(a *assignment, err error) {
	alarm := Alarm{Kind: AlarmPartitionStopped, Topic: a.topic, Partition: a.id}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.haltLocked(err) {
		return
	}
	alarm.Offset = a.mark.last
	c.lanes.Go(func() {
		ctx, cancel := context.WithTimeout(c.work, offsetCommitTimeout)
		defer cancel()
		alarm.Err = fmt.Errorf("the log does not hold offset %d, the next to read, but %s; records may be lost: %w", alarm.Offset, c.logRange(ctx, a.partition), err)
		c.alarmLater(alarm)
	})
}

// logRange says in words what a partition's log holds.
func (c *Consumer) logRange(ctx context.Context, p partition) string {
	admin := kadm.NewClient(c.admin)
	starts, err := admin.ListStartOffsets(ctx, p.topic)
	if err != nil {
		return "an unknown range (" + err.Error() + ")"
	}
	ends, err := admin.ListEndOffsets(ctx, p.topic)
	if err != nil {
		return "an unknown range (" + err.Error() + ")"
	}
	start, _ := starts.Lookup(p.topic, p.id)
	end, _ := ends.Lookup(p.topic, p.id)
	return fmt.Sprintf("offsets %d to before %d", start.Offset, end.Offset)
}
