package runtime

import (
	"math/rand/v2"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

func itemsAt(offsets ...int64) []*item {
	items := make([]*item, len(offsets))
	for i, o := range offsets {
		items[i] = &item{rec: &kgo.Record{Offset: o, LeaderEpoch: int32(o / 10)}}
	}
	return items
}

func TestTheWatermarkStopsBeforeTheFirstRecordThatIsNotCompleted(t *testing.T) {
	cases := map[string]struct {
		delivered []int64
		completed []int // by index
		want      int64 // -1: nothing to commit
	}{
		"nothing":             {[]int64{5, 6, 7}, nil, -1},
		"all":                 {[]int64{5, 6, 7}, []int{0, 1, 2}, 8},
		"out of order":        {[]int64{5, 6, 7}, []int{2, 0}, 6},
		"only a later one":    {[]int64{5, 6, 7}, []int{1, 2}, -1},
		"over a gap":          {[]int64{5, 90, 91}, []int{0, 1}, 91},
		"ending before a gap": {[]int64{5, 90, 91}, []int{0}, 6},
		"twice":               {[]int64{5, 6, 7}, []int{0, 0}, 6},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var w watermark
			items := itemsAt(tc.delivered...)
			if !w.add(items) {
				t.Fatal("ascending offsets were refused")
			}
			for _, i := range tc.completed {
				w.complete(items[i : i+1])
			}
			got, ok := w.offset()
			if !ok {
				got.Offset = -1
			}
			if got.Offset != tc.want {
				t.Errorf("offset to commit is %d, want %d", got.Offset, tc.want)
			}
			if ok && int64(got.Epoch) != (got.Offset-1)/10 {
				t.Errorf("epoch is %d, want that of the last completed record", got.Epoch)
			}
		})
	}
}

func TestOffsetsThatDoNotAscendAreRefusedWhole(t *testing.T) {
	for _, bad := range [][]int64{{6}, {7}, {8, 8}, {9, 8}} {
		var w watermark
		w.add(itemsAt(5, 7))
		if w.add(itemsAt(bad...)) {
			t.Errorf("offsets %v were accepted after 7", bad)
		}
		if w.len() != 2 {
			t.Errorf("%d records are pending after %v was refused, want 2", w.len(), bad)
		}
	}
}

func TestTheWatermarkAgreesWithTheDefinitionForAnyOrder(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var w watermark
		var all []*item
		var next, before int64
		for len(all) < 3000 {
			var offsets []int64
			for range r.IntN(50) {
				next += 1 + r.Int64N(3)
				offsets = append(offsets, next)
			}
			fresh := itemsAt(offsets...)
			w.add(fresh)
			all = append(all, fresh...)
			for range r.IntN(60) {
				if i := max(0, len(all)-1-r.IntN(200)); i < len(all) {
					w.complete(all[i : i+1])
				}
			}
			want, pending := int64(0), 0
			for i, it := range all {
				if !it.done {
					pending = len(all) - i
					break
				}
				want = it.rec.Offset + 1
			}
			got, _ := w.offset()
			if got.Offset != want || w.len() != pending || got.Offset < before {
				t.Fatalf("seed %d: offset %d with %d pending, want %d with %d (before: %d)", seed, got.Offset, w.len(), want, pending, before)
			}
			before = got.Offset
		}
	}
}
