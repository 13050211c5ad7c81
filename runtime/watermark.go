package runtime

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// An item is one record on its way through an assignment.
type item struct {
	rec    *kgo.Record
	polled time.Duration // when it was polled, on the consumer's clock
	done   bool          // guarded by the assignment's lock
	// parked is why the record goes to the quarantine, found by an attempt at it.
	// Only its lane's goroutine uses it.
	parked error
	// origin is nil but for a record that has come back; see source.
	origin *origin
}

// watermark follows the records of one assignment in the order in which they
// were polled and knows up to where all of them are completed. Offsets may have
// gaps: compaction, transaction markers and aborted records leave holes that
// will never be filled, so only records that were really delivered count.
// The zero value is ready; it is not safe for concurrent use.
type watermark struct {
	pending []*item // delivered, oldest first, the first one not completed
	head    int     // index of the oldest in pending
	last    int64   // highest offset delivered, plus one
	next    kgo.EpochOffset
	moved   bool
}

// add takes newly delivered records. It returns false, and takes nothing, if
// their offsets do not ascend.
func (w *watermark) add(items []*item) bool {
	last := w.last
	for _, it := range items {
		if it.rec.Offset < last {
			return false
		}
		last = it.rec.Offset + 1
	}
	w.last = last
	w.pending = append(w.pending, items...)
	return true
}

// place tells where records will begin, unless some have been delivered, and whether
// that offset is to be committed.
func (w *watermark) place(next int64, commit bool) {
	if w.len() > 0 || w.moved {
		return
	}
	w.last = next
	if commit {
		w.next, w.moved = kgo.EpochOffset{Epoch: -1, Offset: next}, true
	}
}

// first returns the offset of the first record that is not completed or, if there is
// none, of the one that will be delivered next.
func (w *watermark) first() int64 {
	if w.len() == 0 {
		return w.last
	}
	return w.pending[w.head].rec.Offset
}

// oldest returns the first record that is not completed, nil if there is none.
func (w *watermark) oldest() *kgo.Record {
	if w.len() == 0 {
		return nil
	}
	return w.pending[w.head].rec
}

// complete marks items as done and advances. It reports whether the committable
// offset moved.
func (w *watermark) complete(items []*item) bool {
	for _, it := range items {
		it.done = true
	}
	advanced := false
	for w.head < len(w.pending) && w.pending[w.head].done {
		rec := w.pending[w.head].rec
		w.next = kgo.EpochOffset{Epoch: rec.LeaderEpoch, Offset: rec.Offset + 1}
		w.pending[w.head] = nil
		w.head++
		advanced = true
	}
	if w.head == len(w.pending) {
		w.pending, w.head = w.pending[:0], 0
	} else if w.head > 1024 && w.head > len(w.pending)/2 {
		n := copy(w.pending, w.pending[w.head:])
		clear(w.pending[n:])
		w.pending, w.head = w.pending[:n], 0
	}
	w.moved = w.moved || advanced
	return advanced
}

// len returns how many records are delivered and not yet below the watermark.
func (w *watermark) len() int { return len(w.pending) - w.head }

// offset returns the offset to commit: the one after the last record of which
// it and everything before is completed. It is false before the first one.
func (w *watermark) offset() (kgo.EpochOffset, bool) { return w.next, w.moved }
