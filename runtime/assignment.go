package runtime

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/trace"
)

// A partition names a topic's partition.
type partition struct {
	topic string
	id    int32
}

// An assignment is one stay of a partition with this consumer: from the moment
// the group gives it until it takes it away. When the same partition comes back
// it gets a new assignment, so that nothing left over from the old stay (a
// batch in flight, a queued record, an offset) can touch the new one.
//
// Lock order: Consumer.commitMu, Consumer.mu, assignment.mu.
type assignment struct {
	partition
	consumer *Consumer
	handler  handler
	back     *redelivered // nil unless the topic brings records of others back

	metrics     *topicMetrics
	spanName    string
	spanOptions []trace.SpanStartOption

	// ctx ends when work for this assignment must stop at once; cancel's cause
	// says why.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// closing is closed when no new batch may begin. What is in flight may end.
	closing   chan struct{}
	closeOnce sync.Once
	// lanes ends when every lane's goroutine has returned.
	lanes sync.WaitGroup

	mu       sync.Mutex
	queues   []*lane
	mark     watermark
	end      int64 // of the log, as last seen, -1 before
	paused   bool
	retrying int   // lanes that wait before another attempt
	delaying int   // lanes that wait for a record to be due
	stopped  error // why the partition is stopped, nil while it runs

	// The rest is guarded by Consumer.commitMu.

	// revoked says that the partition belongs to someone else: nothing may be
	// committed any more, whatever completes late.
	revoked   bool
	committed int64 // highest offset the broker has confirmed, or -1
}

// A lane runs the batches of some of a partition's keys, one after the other.
type lane struct {
	assignment *assignment
	queue      []*item       // guarded by assignment.mu
	wake       chan struct{} // holds a token when the queue may be non-empty
	// Only the lane's goroutine uses the rest.
	limit   int       // events in the next batch
	lease   uuid.UUID // under which it holds intents, the zero UUID before the first
	scratch scratch
}

var keySeed = maphash.MakeSeed()

func newAssignment(c *Consumer, p partition) *assignment {
	a := &assignment{
		partition: p,
		consumer:  c,
		handler:   c.handlers[p.topic],
		metrics:   c.topics[p.topic],
		closing:   make(chan struct{}),
		committed: -1,
		end:       -1,
	}
	if back, ok := c.cfg.redeliveryTopics()[p.topic]; ok {
		a.back = &back
	}
	a.ctx, a.cancel = context.WithCancelCause(c.work)
	a.spanName, a.spanOptions = spanOf(a.metrics, p)
	for range c.cfg.Concurrency {
		a.queues = append(a.queues, &lane{
			assignment: a,
			wake:       make(chan struct{}, 1),
			limit:      c.cfg.BatchSize,
		})
	}
	return a
}

// start runs the lanes.
func (a *assignment) start() {
	for _, l := range a.queues {
		a.consumer.lanes.Add(1)
		a.lanes.Go(func() {
			defer a.consumer.lanes.Done()
			ended := true
			defer func() {
				if ended {
					a.stop(Alarm{Kind: AlarmPartitionStopped, Topic: a.topic, Partition: a.id, Offset: a.waiting(), Err: errGoexit})
				}
			}()
			l.run()
			ended = false
		})
	}
}

// place tells from which offset the partition will be read, and whether that is yet
// to be committed.
func (a *assignment) place(next int64, commit bool) {
	a.mu.Lock()
	a.mark.place(next, commit)
	a.mu.Unlock()
	if commit {
		a.consumer.wantCommit()
	}
}

// deliver queues polled records. It never blocks: a partition that is too far
// behind is paused instead.
func (a *assignment) deliver(recs []*kgo.Record) {
	a.polledRecords(len(recs))
	now := a.consumer.clock()
	items := make([]*item, len(recs))
	store := make([]item, len(recs))
	for i, rec := range recs {
		store[i].rec, store[i].polled = rec, now
		if a.back != nil {
			store[i].origin = a.back.restore(rec, a.consumer.cfg.Group)
		}
		items[i] = &store[i]
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped != nil || a.isClosing() {
		return // redelivered from the committed offset
	}
	if !a.mark.add(items) {
		a.stopLocked(Alarm{
			Kind: AlarmPartitionStopped, Topic: a.topic, Partition: a.id, Offset: recs[0].Offset,
			Err: &OffsetRegressionError{Delivered: a.mark.last - 1, Got: recs[0].Offset},
		})
		return
	}
	for _, it := range items {
		l := a.queues[a.laneOf(it.rec.Key)]
		l.queue = append(l.queue, it)
	}
	for _, l := range a.queues {
		if len(l.queue) > 0 {
			l.signal()
		}
	}
	a.adjustPauseLocked(false)
}

// laneOf maps a key to a lane. Records without a key keep their order among
// themselves, as one key would.
func (a *assignment) laneOf(key []byte) int {
	if len(a.queues) == 1 || len(key) == 0 {
		return 0
	}
	return int(maphash.Bytes(keySeed, key) % uint64(len(a.queues)))
}

// adjustPauseLocked pauses or resumes fetching to fit the assignment's state. polling
// says that records are about to be polled, of which a full buffer must get no more.
// Pausing costs the client what it has buffered for the partition, so that happens
// no sooner, and it resumes only when half of the buffer is free.
func (a *assignment) adjustPauseLocked(polling bool) {
	want := a.paused
	switch {
	case a.stopped != nil, a.retrying+a.delaying > 0, polling && a.fullLocked():
		want = true
	case a.mark.len() <= a.consumer.cfg.MaxBuffered/2:
		want = false
	}
	if want == a.paused || a.isClosing() {
		return
	}
	a.paused = want
	which := map[string][]int32{a.topic: {a.id}}
	if want {
		a.consumer.client.PauseFetchPartitions(which)
	} else {
		a.consumer.client.ResumeFetchPartitions(which)
	}
}

func (a *assignment) fullLocked() bool { return a.mark.len() >= a.consumer.cfg.MaxBuffered }

// hungry tells whether a lane is about to have nothing to do for want of records, and
// whether the partition is one that works at all.
func (a *assignment) hungry() (hungry, works bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped != nil || a.retrying+a.delaying > 0 {
		return false, false
	}
	if a.fullLocked() {
		return false, true
	}
	for _, l := range a.queues {
		if len(l.queue) < a.consumer.cfg.BatchSize {
			return true, true
		}
	}
	return false, true
}

// beforePoll pauses a partition that must get no more records.
func (a *assignment) beforePoll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.adjustPauseLocked(true)
}

// complete counts items as done and lets the committer know.
func (a *assignment) complete(items []*item) {
	a.mu.Lock()
	advanced := a.mark.complete(items)
	a.adjustPauseLocked(false)
	a.mu.Unlock()
	a.consumer.wantPoll()
	if advanced {
		a.consumer.wantCommit()
	}
}

// offset returns what may be committed.
func (a *assignment) offset() (kgo.EpochOffset, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mark.offset()
}

// waiting returns the offset of the first record that is not completed or, if there
// is none, of the next one to be read.
func (a *assignment) waiting() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mark.first()
}

// setRetrying counts a lane in or out of its wait before another attempt.
func (a *assignment) setRetrying(by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.retrying += by
	a.adjustPauseLocked(false)
	a.consumer.wantPoll()
}

// setDelaying counts a lane in or out of its wait for a record to be due.
func (a *assignment) setDelaying(by int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.delaying += by
	a.adjustPauseLocked(false)
	a.consumer.wantPoll()
}

// stop ends the processing of this partition for the length of the assignment:
// the record named by the alarm, and everything after it, stays uncommitted.
func (a *assignment) stop(alarm Alarm) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopLocked(alarm)
}

func (a *assignment) stopLocked(alarm Alarm) {
	if a.haltLocked(alarm.Err) {
		a.consumer.alarmLater(alarm)
	}
}

// haltLocked is stop without the alarm. It is false if the partition had stopped.
func (a *assignment) haltLocked(why error) bool {
	if a.stopped != nil {
		return false
	}
	a.stopped = why
	for _, l := range a.queues {
		l.queue = nil
	}
	a.adjustPauseLocked(false)
	a.consumer.wantPoll()
	return true
}

// rest keeps the partition from being fetched for a while.
func (a *assignment) rest(d time.Duration) {
	a.setRetrying(1)
	time.AfterFunc(d, func() { a.setRetrying(-1) })
}

// close lets no new batch begin. When it returns, this assignment will not pause
// or resume its partition any more, which by then may have a new assignment.
func (a *assignment) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closeOnce.Do(func() { close(a.closing) })
}

func (a *assignment) isClosing() bool {
	select {
	case <-a.closing:
		return true
	case <-a.ctx.Done():
		return true
	default:
		return false
	}
}

// drained returns a channel that is closed when all lanes have returned.
func (a *assignment) drained() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		a.lanes.Wait()
		close(done)
	}()
	return done
}

func (l *lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// next waits for records and takes at most l.limit of them. It lingers for a
// fuller batch, and returns nil when no new batch may begin.
func (l *lane) next() []*item {
	a := l.assignment
	var linger <-chan time.Time
	for {
		if a.isClosing() {
			return nil
		}
		a.mu.Lock()
		n := len(l.queue)
		full := n >= l.limit
		if n > 0 && (full || linger == nil && a.consumer.cfg.Linger <= 0) {
			items := l.takeLocked()
			a.mu.Unlock()
			return items
		}
		a.mu.Unlock()
		if n > 0 && linger == nil {
			timer := time.NewTimer(a.consumer.cfg.Linger)
			defer timer.Stop()
			linger = timer.C
		}
		select {
		case <-l.wake:
		case <-linger:
			a.mu.Lock()
			items := l.takeLocked()
			a.mu.Unlock()
			if len(items) > 0 {
				return items
			}
			linger = nil
		case <-a.closing:
		case <-a.ctx.Done():
		}
	}
}

func (l *lane) takeLocked() []*item {
	n := min(len(l.queue), l.limit)
	items := l.queue[:n:n]
	l.queue = l.queue[n:]
	if len(l.queue) == 0 {
		l.queue = nil
	}
	l.assignment.consumer.wantPoll()
	return items
}
