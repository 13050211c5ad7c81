package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/google/uuid"
)

// An AlarmKind says what a person has to look at.
type AlarmKind string

// The kinds of alarms.
const (
	// AlarmPartitionStopped: a partition has stopped at Offset and stays stopped
	// until it is assigned anew (restart, rebalance). Nothing was skipped.
	AlarmPartitionStopped AlarmKind = "partition_stopped"
	// AlarmRetrying: a batch keeps failing for a reason that is no record's
	// fault. The partition waits and tries on; the others run.
	AlarmRetrying AlarmKind = "retrying"
	// AlarmFetch: a partition cannot be fetched, or a topic is not there. It is
	// tried again, ever less often.
	AlarmFetch AlarmKind = "fetch"
	// AlarmOffsetCommit: offset commits keep failing. Work goes on; after a crash
	// more records than usual will be found as duplicates.
	AlarmOffsetCommit AlarmKind = "offset_commit"
	// AlarmDeadLetter: a record cannot be written to its dead letter or retry topic; the
	// partition waits.
	AlarmDeadLetter AlarmKind = "dead_letter"
	// AlarmStuck: a handler, decoder, quarantine or dead letter has not returned for
	// long, although its context has ended. Its partition waits.
	AlarmStuck AlarmKind = "stuck"
	// AlarmOutbox: messages of the outbox cannot be published; see Relay.
	AlarmOutbox AlarmKind = "outbox"
	// AlarmMaintainer: the upkeep of processed_event fails.
	AlarmMaintainer AlarmKind = "maintainer"
)

// alarmKinds lists every kind.
func alarmKinds() []AlarmKind {
	return []AlarmKind{
		AlarmPartitionStopped, AlarmRetrying, AlarmFetch, AlarmOffsetCommit, AlarmDeadLetter, AlarmStuck, AlarmOutbox, AlarmMaintainer,
	}
}

// An Alarm tells a person that something will not heal by itself, or not soon.
type Alarm struct {
	Kind      AlarmKind
	Topic     string // empty if the alarm concerns no partition
	Partition int32
	Offset    int64 // of the record concerned, or of the first one that waits
	// EventID is the event concerned, the zero UUID if none is known.
	EventID uuid.UUID
	// Attempt counts the failures so far of what is being tried.
	Attempt int
	Err     error
}

// LogValue lists the alarm's fields for slog.
func (a Alarm) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("kind", string(a.Kind))}
	if a.Topic != "" {
		attrs = append(attrs, slog.String("topic", a.Topic), slog.Int("partition", int(a.Partition)), slog.Int64("offset", a.Offset))
	}
	if a.EventID != uuid.Nil {
		attrs = append(attrs, slog.String("event_id", a.EventID.String()))
	}
	if a.Attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", a.Attempt))
	}
	return slog.GroupValue(append(attrs, slog.Any("error", a.Err))...)
}

// An OffsetRegressionError reports a broker that delivered an offset again, or
// a lower one, within one assignment: the log was truncated or replaced under
// the consumer. Its partition stops, since what was lost with the log is for a
// person to find out.
type OffsetRegressionError struct {
	Delivered int64 // the highest offset delivered before
	Got       int64 // what was delivered after it
}

func (e *OffsetRegressionError) Error() string {
	return fmt.Sprintf("broker delivered offset %d after %d", e.Got, e.Delivered)
}

// repeats tells at which failure counts an alarm is raised: late enough not to
// report what heals within seconds, and then again and again but ever less.
func repeats(attempt int) bool {
	return attempt == 5 || attempt >= 20 && attempt%20 == 0
}

// maxPendingAlarms bounds those that wait for a hook that does not return.
const maxPendingAlarms = 1000

// alarms hands alarms to a hook from one goroutine, outside of any lock.
type alarms struct {
	mu      sync.Mutex
	pending []Alarm
	wake    chan struct{}
}

func (b *alarms) put(a Alarm) {
	b.mu.Lock()
	if len(b.pending) < maxPendingAlarms {
		b.pending = append(b.pending, a)
	}
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *alarms) take() []Alarm {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.pending
	b.pending = nil
	return taken
}

// run calls hook for every alarm until ctx ends, and for those left then.
func (b *alarms) run(ctx context.Context, hook func(Alarm)) {
	for {
		for _, a := range b.take() {
			hook(a)
		}
		select {
		case <-b.wake:
		case <-ctx.Done():
			for _, a := range b.take() {
				hook(a)
			}
			return
		}
	}
}
