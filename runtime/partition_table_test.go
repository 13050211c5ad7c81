package runtime

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestMissingRangesCompleteTheWindow(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 11, 30, hour, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		name       string
		held       []idRange
		begin, end time.Time
		want       []idRange
	}{
		{"nothing held", nil, at(0), at(4), []idRange{{at(0), at(2)}, {at(2), at(4)}}},
		{"an uneven end is rounded up", nil, at(0), at(3), []idRange{{at(0), at(2)}, {at(2), at(4)}}},
		{"an uneven begin meets the grid", nil, at(1), at(4), []idRange{{at(1), at(2)}, {at(2), at(4)}}},
		{"all held", []idRange{{at(0), at(6)}}, at(0), at(4), nil},
		{"a hole", []idRange{{at(0), at(2)}, {at(4), at(6)}}, at(0), at(6), []idRange{{at(2), at(4)}}},
		{"a hole off the grid", []idRange{{at(0), at(3)}, {at(5), at(6)}}, at(0), at(6), []idRange{{at(3), at(4)}, {at(4), at(5)}}},
		{"held before and after", []idRange{{at(-9), at(0)}, {at(2), at(9)}}, at(0), at(2), []idRange{{at(0), at(2)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := missingRanges(c.held, c.begin, c.end, 2*time.Hour)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// Whatever is held, what is held and what is missing together cover the window and never overlap.
func TestMissingRangesNeverOverlapAndLeaveNoHole(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	origin := time.UnixMilli(1_000_000_000)
	for range 5000 {
		var held []idRange
		for at := random.Int64N(50); at < 300; {
			end := at + 1 + random.Int64N(40)
			held = append(held, idRange{origin.Add(time.Duration(at) * time.Second), origin.Add(time.Duration(end) * time.Second)})
			at = end + random.Int64N(3)*random.Int64N(40)
		}
		begin := origin.Add(time.Duration(random.Int64N(200)) * time.Second)
		end := begin.Add(time.Duration(1+random.Int64N(150)) * time.Second)
		width := time.Duration(1+random.Int64N(30)) * time.Second
		all := append(slices.Clone(held), missingRanges(held, begin, end, width)...)
		slices.SortFunc(all, func(a, b idRange) int { return a.begin.Compare(b.begin) })
		for i := 1; i < len(all); i++ {
			if all[i].begin.Before(all[i-1].end) {
				t.Fatalf("%v and %v overlap (held %v, window %v to %v by %v)", all[i-1], all[i], held, begin, end, width)
			}
		}
		if until := coveredUntil(all, begin); until.Before(end) {
			t.Fatalf("covered until %v only (held %v, window %v to %v by %v)", until, held, begin, end, width)
		}
	}
}

func TestPartitionNamesAreToldApart(t *testing.T) {
	for begin, want := range map[time.Time]string{
		time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC):           "processed_event_p20261130",
		time.Date(2026, 11, 30, 6, 5, 4, 0, time.UTC):           "processed_event_p20261130t060504",
		time.Date(2026, 11, 30, 0, 0, 0, 7_000_000, time.UTC):   "processed_event_p20261130t000000_007",
		time.Date(2026, 11, 30, 0, 0, 0, 700_000_000, time.UTC): "processed_event_p20261130t000000_700",
	} {
		if got := partitionName(begin); got != want {
			t.Errorf("partition of %v is named %s, want %s", begin, got, want)
		}
	}
}

func FuzzParseBoundReadsBackWhatPostgreSQLPrints(f *testing.F) {
	f.Add(int64(0), int64(1), "")
	f.Add(int64(1<<48-2), int64(1<<48-1), "FOR VALUES FROM (MINVALUE) TO (MAXVALUE)")
	f.Add(int64(5), int64(6), "DEFAULT")
	f.Add(int64(5), int64(6), "FOR VALUES FROM ('019ad4f0-0000-0000-0000-000000000000') TO ('------------------------------------')")
	f.Fuzz(func(t *testing.T, from, to int64, other string) {
		if r, err := parseBound(other); err == nil && r.begin.After(r.end) {
			t.Logf("%q is an empty range", other)
		}
		want := idRange{time.UnixMilli(from & (1<<48 - 1)).UTC(), time.UnixMilli(to & (1<<48 - 1)).UTC()}
		bound := "FOR VALUES FROM ('" + firstID(want.begin).String() + "') TO ('" + firstID(want.end).String() + "')"
		got, err := parseBound(bound)
		if err != nil || got != want {
			t.Errorf("parseBound(%q) = %v, %v, want %v", bound, got, err, want)
		}
	})
}
