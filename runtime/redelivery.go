package runtime

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A RetryTopic is a topic in which records that failed wait for another attempt. One that
// is taken out of the configuration is not read any more: what waits there is left alone.
type RetryTopic struct {
	// Topic is the topic's name. It is this group's alone, must exist, and must keep its
	// records for longer than Delay. The consumer consumes it itself.
	Topic string
	// Delay is how long a record waits there before it is tried again.
	Delay time.Duration
}

// redelivered says of a topic that it brings back records of others.
type redelivered struct {
	tier  int // how many retry topics its records have been through
	delay time.Duration
}

// redeliveryTopics are the topics that the consumer itself brings records back by.
func (c Config) redeliveryTopics() map[string]redelivered {
	topics := make(map[string]redelivered)
	for i, t := range c.RetryTopics {
		topics[t.Topic] = redelivered{tier: i + 1, delay: t.Delay}
	}
	if c.ReplayTopic != "" {
		// Whoever replays a record wants to see it succeed or back in the dead letters.
		topics[c.ReplayTopic] = redelivered{tier: len(c.RetryTopics)}
	}
	return topics
}

// redelivery is how long after a record has come for the first time it may come again by
// what is configured here.
func (c Config) redelivery() time.Duration {
	total := c.DeadLetterMaxAge
	for _, t := range c.RetryTopics {
		if total += t.Delay; total < 0 {
			return math.MaxInt64
		}
	}
	return total
}

// An origin is what a record of a redelivery topic was before it failed.
type origin struct {
	rec     *kgo.Record // as it was consumed first, without the runtime's headers
	attempt int         // failed attempts so far
	tier    int
	due     time.Time // before which it is not to be tried
	err     error     // why it cannot be processed here
}

// source is the record as it was consumed first.
func (it *item) source() *kgo.Record {
	if it.origin == nil {
		return it.rec
	}
	return it.origin.rec
}

// precision is that of a record's timestamp, which Kafka keeps in milliseconds: what was
// written at the end of one would else be due up to a millisecond before its delay is over.
const precision = time.Millisecond

// restore finds out what a record of a redelivery topic was. A record of another group
// is to be skipped; one without the runtime's headers fails.
func (r redelivered) restore(rec *kgo.Record, group string) *origin {
	o := &origin{rec: rec, tier: r.tier, due: rec.Timestamp.Add(r.delay + precision)}
	if latest := time.Now().Add(r.delay); o.due.After(latest) {
		o.due = latest // the writer's clock was ahead
	}
	headers := make(map[string]string)
	for _, h := range rec.Headers {
		headers[h.Key] = string(h.Value)
	}
	if of, ok := headers[HeaderGroup]; ok && of != group {
		o.err = fmt.Errorf("%w: it is for group %q", ErrSkip, of)
		return o
	}
	partition, err1 := strconv.ParseInt(headers[HeaderOriginalPartition], 10, 32)
	offset, err2 := strconv.ParseInt(headers[HeaderOriginalOffset], 10, 64)
	millis, err3 := strconv.ParseInt(headers[HeaderOriginalTimestamp], 10, 64)
	attempt, err4 := strconv.Atoi(headers[HeaderAttempt])
	err := errors.Join(err1, err2, err3, err4)
	if headers[HeaderOriginalTopic] == "" {
		err = errors.Join(fmt.Errorf("header %s is missing", HeaderOriginalTopic), err)
	}
	if err != nil {
		o.err = fmt.Errorf("a record of topic %q whose headers do not say where it came from: %w", rec.Topic, err)
		return o
	}
	first := *rec
	first.Topic, first.Partition, first.Offset = headers[HeaderOriginalTopic], int32(partition), offset
	first.Timestamp, first.LeaderEpoch, first.Headers = time.UnixMilli(millis), -1, foreignHeaders(rec.Headers)
	o.rec, o.attempt = &first, attempt
	return o
}

// awaitDue waits until the first of items is due and returns how many are; 0 if the
// assignment ends before. Only this lane waits: its partition is not fetched meanwhile,
// all others are.
func (l *lane) awaitDue(items []*item) int {
	a := l.assignment
	if a.back == nil {
		return len(items)
	}
	if wait := time.Until(items[0].origin.due); wait > 0 && !l.waitDue(wait) {
		return 0
	}
	now := time.Now()
	n := 1
	for n < len(items) && !items[n].origin.due.After(now) {
		n++
	}
	return n
}

// longWait is the wait from which on a pause, which costs the client what it has
// fetched, is worth it.
const longWait = time.Second

func (l *lane) waitDue(wait time.Duration) bool {
	a := l.assignment
	if wait > longWait {
		a.setDelaying(1)
		defer a.setDelaying(-1)
	}
	timer := time.NewTimer(wait)
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

// redeliveryHandler is the handler of a redelivery topic: it runs each record by the
// handler of the topic that the record came from.
type redeliveryHandler struct {
	handlers map[string]handler
}

func (h *redeliveryHandler) newBatch(dec Decoder, capacity int) batch {
	return &redeliveryBatch{handlers: h.handlers, decoder: dec, capacity: capacity, parts: make(map[string]batch)}
}

// redeliveryBatch holds the events of several topics. An event has the same index in its
// topic's part as in the whole.
type redeliveryBatch struct {
	handlers map[string]handler
	decoder  Decoder
	capacity int
	parts    map[string]batch
	topics   []string // by event
}

func (b *redeliveryBatch) decode(rec *kgo.Record) (uuid.UUID, error) {
	part := b.parts[rec.Topic]
	if part == nil {
		h := b.handlers[rec.Topic]
		if _, own := h.(*redeliveryHandler); h == nil || own {
			return uuid.Nil, fmt.Errorf("topic %q, which the record came from, has no handler", rec.Topic)
		}
		part = h.newBatch(b.decoder, b.capacity)
		b.parts[rec.Topic] = part
	}
	part.pad(len(b.topics))
	id, err := part.decode(rec)
	if err == nil {
		b.topics = append(b.topics, rec.Topic)
	}
	return id, err
}

func (b *redeliveryBatch) pad(int) {} // is no part of another batch

func (b *redeliveryBatch) run(ctx context.Context, tx *batchTx, indexes []int) error {
	for len(indexes) > 0 {
		topic, n := b.topics[indexes[0]], 1
		for n < len(indexes) && b.topics[indexes[n]] == topic {
			n++
		}
		if err := b.parts[topic].run(ctx, tx, indexes[:n]); err != nil {
			return err
		}
		indexes = indexes[n:]
	}
	return nil
}
