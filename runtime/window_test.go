package runtime_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/idemlint/idemlint/runtime"
)

// idAt is a fresh UUID v7 made at t.
func idAt(t time.Time) uuid.UUID {
	var id uuid.UUID
	_, _ = rand.Read(id[:]) // never fails
	ms := t.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

func TestTheWindowTellsWhichIDsAreInside(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 500_900, time.UTC)
	window := runtime.Window{Retention: 48 * time.Hour, Skew: time.Hour}
	for _, c := range []struct {
		name   string
		id     uuid.UUID
		reason runtime.Reason
	}{
		{"now", idAt(now), ""},
		{"the oldest millisecond", idAt(now.Add(-48 * time.Hour)), ""},
		{"a millisecond too old", idAt(now.Add(-48*time.Hour - time.Millisecond)), runtime.ReasonTooOld},
		{"the newest millisecond", idAt(now.Add(time.Hour)), ""},
		{"a millisecond too far ahead", idAt(now.Add(time.Hour + time.Millisecond)), runtime.ReasonTooFarAhead},
		{"from 1970", idAt(time.UnixMilli(0)), runtime.ReasonTooOld},
		{"the last v7 there is", idAt(time.UnixMilli(1<<48 - 1)), runtime.ReasonTooFarAhead},
		{"version 4", uuid.MustParse("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"), runtime.ReasonNotV7},
		{"version 1", uuid.MustParse("c232ab00-9414-11ec-b3c8-9f6bdeced846"), runtime.ReasonNotV7},
		{"version 6", uuid.MustParse("1ec9414c-232a-6b00-b3c8-9f6bdeced846"), runtime.ReasonNotV7},
		{"version 7 of another variant", uuid.MustParse("019ad4f0-0000-7000-c000-000000000000"), runtime.ReasonNotV7},
		{"nil", uuid.Nil, runtime.ReasonNotV7},
		{"max", uuid.Max, runtime.ReasonNotV7},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := window.Check(c.id, now)
			if c.reason == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			var out *runtime.OutOfWindowError
			if !errors.As(err, &out) {
				t.Fatalf("answered %v, want an OutOfWindowError", err)
			}
			if out.Reason != c.reason || out.ID != c.id {
				t.Errorf("refused %s as %s, want %s as %s", out.ID, out.Reason, c.id, c.reason)
			}
		})
	}
}

func TestARefusalTellsTheLimit(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name      string
		at, limit time.Time
	}{
		{"old", now.Add(-8 * 24 * time.Hour), now.Add(-7 * 24 * time.Hour)},
		{"ahead", now.Add(25 * time.Hour), now.Add(24 * time.Hour)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out *runtime.OutOfWindowError
			if err := (runtime.Window{}).Check(idAt(c.at), now); !errors.As(err, &out) {
				t.Fatalf("answered %v, want an OutOfWindowError", err)
			}
			if !out.EventTime.Equal(c.at) || !out.Limit.Equal(c.limit) {
				t.Errorf("event time %v, limit %v, want %v, %v", out.EventTime, out.Limit, c.at, c.limit)
			}
		})
	}
}

func TestAWindowThatCannotHoldIsRefused(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		name   string
		window runtime.Window
		ok     bool
	}{
		{"default", runtime.Window{}, true},
		{"thirty days", runtime.Window{Retention: 30 * day}, true},
		{"minutes", runtime.Window{Retention: time.Hour, Skew: time.Minute, Ahead: time.Hour, Partition: 10 * time.Minute}, true},
		{"dead letters kept as long as marks", runtime.Window{Redelivery: 7 * day}, true},
		{"dead letters kept longer than marks", runtime.Window{Redelivery: 7*day + 1}, false},
		{"negative retention", runtime.Window{Retention: -1}, false},
		{"negative skew", runtime.Window{Skew: -1}, false},
		{"negative redelivery", runtime.Window{Redelivery: -1}, false},
		{"partitions too short", runtime.Window{Partition: time.Millisecond}, false},
		{"too many partitions", runtime.Window{Partition: time.Minute}, false},
		{"ids accepted further ahead than partitions are made", runtime.Window{Skew: 2 * day, Ahead: 2 * day}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.window.Validate(); (err == nil) != c.ok {
				t.Errorf("Validate answered %v, want it to pass: %v", err, c.ok)
			}
		})
	}
}

func FuzzEventTimeReadsBackTheTimeOfAnID(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(1<<48 - 1))
	f.Add(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC).UnixMilli())
	f.Fuzz(func(t *testing.T, ms int64) {
		want := time.UnixMilli(ms & (1<<48 - 1))
		got, ok := runtime.EventTime(idAt(want))
		if !ok || !got.Equal(want) {
			t.Errorf("EventTime = %v, %v, want %v", got, ok, want)
		}
	})
}
