package runtime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

const day = 24 * time.Hour

// maxPartitions bounds what a window may ask for: the first insert of a connection took 6.6 ms with a thousand
// partitions and grows with their number.
const maxPartitions = 2000

// A Window says for which events the table of processed events can tell a repeat. A UUID v7 carries the time it
// was made in its first 48 bits, so the window is one of event times, and an id alone shows whether it is inside.
// The zero value is the default window.
type Window struct {
	// Retention is how long after its creation an event can still be told from a repeat; 0 means 7 days. It
	// counts from the event's creation, not its arrival: size it from the slowest producer's outbox and the
	// longest outage, not from the delivery that is usual.
	Retention time.Duration
	// Skew is how far an event id may be ahead of this machine's clock; 0 means 24 hours. It has to cover clocks
	// that are wrong, and is generous because an id inside of it is deduplicated like any other.
	Skew time.Duration
	// Ahead is how far partitions are made ahead of the clock; 0 means 7 days. It is how long the maintainer
	// may fail before events can no longer be marked.
	Ahead time.Duration
	// Partition is the time that one partition holds; 0 means 24 hours. A change of it applies to partitions
	// made from then on.
	Partition time.Duration
	// Redelivery is the longest time after which something other than the topic itself, such as a retry topic
	// or a dead letter replay, may still bring an event back; 0 means that nothing does. Marks are kept that
	// much longer than the oldest uncommitted event. It must not exceed Retention.
	Redelivery time.Duration
}

func (w Window) withDefaults() Window {
	for _, d := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&w.Retention, 7 * day}, {&w.Skew, day}, {&w.Ahead, 7 * day}, {&w.Partition, day},
	} {
		if *d.value == 0 {
			*d.value = d.fallback
		}
	}
	return w
}

// Validate tells why a window cannot be used: a negative or uselessly small length, ids accepted for which no
// partition is made in time, or marks that are dropped before a retry or a dead letter may bring their event back.
func (w Window) Validate() error {
	w = w.withDefaults()
	var failures []error
	reject := func(bad bool, format string, args ...any) {
		if bad {
			failures = append(failures, fmt.Errorf(format, args...))
		}
	}
	reject(w.Retention <= 0, "retention %v is not positive", w.Retention)
	reject(w.Skew < 0, "skew %v is negative", w.Skew)
	reject(w.Partition < time.Second, "partition length %v is below a second", w.Partition)
	reject(w.Redelivery < 0, "redelivery %v is negative", w.Redelivery)
	reject(w.Redelivery > w.Retention,
		"an event may be redelivered after %v, but is remembered only for %v", w.Redelivery, w.Retention)
	reject(w.Ahead < w.Skew+w.Partition,
		"partitions are made %v ahead, but ids are accepted %v ahead and a partition holds %v",
		w.Ahead, w.Skew, w.Partition)
	if w.Partition >= time.Second {
		reject((w.Retention+w.Ahead)/w.Partition > maxPartitions,
			"%v of retention and %v ahead in partitions of %v are more than %d partitions",
			w.Retention, w.Ahead, w.Partition, maxPartitions)
	}
	if len(failures) > 0 {
		return fmt.Errorf("window of processed events: %w", errors.Join(failures...))
	}
	return nil
}

// A Reason is why an event was refused: it cannot be deduplicated, or a call for it cannot.
type Reason string

// The reasons of an OutOfWindowError, as they stand in quarantined_event.reason.
const (
	// ReasonNotV7: the id does not tell its time.
	ReasonNotV7 Reason = "event_id_not_v7"
	// ReasonTooOld: the marks of that time are dropped, or may be at any moment.
	ReasonTooOld Reason = "event_id_too_old"
	// ReasonTooFarAhead: the id claims a time that no correct clock shows yet.
	ReasonTooFarAhead Reason = "event_id_too_far_ahead"
)

// An OutOfWindowError refuses an event that might be a repeat or not: the table cannot tell. Such an event goes to
// the quarantine; trying again does not help.
type OutOfWindowError struct {
	ID     uuid.UUID
	Reason Reason
	// EventTime is when the id says the event was made, zero for ReasonNotV7.
	EventTime time.Time
	// Limit is the bound that EventTime is beyond, zero for ReasonNotV7.
	Limit time.Time
}

func (e *OutOfWindowError) Error() string {
	switch e.Reason {
	case ReasonTooOld:
		return fmt.Sprintf("event %s of %s is older than the window, which begins at %s",
			e.ID, stamp(e.EventTime), stamp(e.Limit))
	case ReasonTooFarAhead:
		return fmt.Sprintf("event %s claims to be of %s, later than %s", e.ID, stamp(e.EventTime), stamp(e.Limit))
	default:
		return fmt.Sprintf("event id %s is a UUID of version %d, not 7", e.ID, e.ID.Version())
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Check answers nil if an event with this id is inside the window at the time now, and an *OutOfWindowError if it
// is not. Both bounds belong to the window. It looks at no table: a Maintainer's Check also knows what is dropped
// and what is kept for longer.
func (w Window) Check(id uuid.UUID, now time.Time) error {
	w = w.withDefaults()
	return w.gate(now, now.Add(-w.Retention)).check(id)
}

// A gate lets ids pass whose times are from oldest to newest, both in milliseconds, which
// is what an id has.
type gate struct {
	oldest, newest int64
	anyVersion     bool // ids that do not tell their time pass, too
}

func (w Window) gate(now, oldest time.Time) gate {
	return gate{oldest: oldest.UnixMilli(), newest: now.Add(w.Skew).UnixMilli()}
}

func (g gate) check(id uuid.UUID) error {
	if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
		if g.anyVersion {
			return nil
		}
		return &OutOfWindowError{ID: id, Reason: ReasonNotV7}
	}
	switch at := millisOf(id); {
	case at < g.oldest:
		return &OutOfWindowError{ID: id, Reason: ReasonTooOld, EventTime: timeOf(id), Limit: time.UnixMilli(g.oldest).UTC()}
	case at > g.newest:
		return &OutOfWindowError{ID: id, Reason: ReasonTooFarAhead, EventTime: timeOf(id), Limit: time.UnixMilli(g.newest).UTC()}
	}
	return nil
}

// EventTime answers the time that a UUID v7 carries, to the millisecond, and false for an id of another version or
// variant (RFC 9562, section 5.7).
func EventTime(id uuid.UUID) (time.Time, bool) {
	if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
		return time.Time{}, false
	}
	return timeOf(id), true
}

// timeOf reads an id's first 48 bits as milliseconds, whatever its version.
func timeOf(id uuid.UUID) time.Time { return time.UnixMilli(millisOf(id)).UTC() }

func millisOf(id uuid.UUID) int64 { return int64(binary.BigEndian.Uint64(id[:8]) >> 16) }

// firstID answers the smallest UUID of a time: the lower bound of a partition that begins then. It sorts before
// every v7 of that millisecond.
func firstID(t time.Time) uuid.UUID {
	var id uuid.UUID
	ms := t.UnixMilli()
	for i := 5; i >= 0; i-- {
		id[i] = byte(ms)
		ms >>= 8
	}
	return id
}
