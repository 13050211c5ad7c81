package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// probeTimeout bounds the look at the records that committed offsets point to.
const probeTimeout = 15 * time.Second

// prepare checks, before the group is joined, that the table is there and fit,
// and makes the partitions that are missing. It waits for a database that is down or
// does not answer.
func (c *Consumer) prepare(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		bounded, cancel := context.WithTimeout(ctx, c.cfg.BatchTimeout)
		err := c.maintainer.Prepare(bounded)
		cancel()
		if err == nil {
			return c.bind(c.maintainer.table())
		}
		if ctx.Err() != nil || needsRepair(err) {
			return err
		}
		c.cfg.Logger.Warn("the table is not ready; trying again", "group", c.cfg.Group, "attempt", attempt, "error", err)
		if repeats(attempt) || attempt == 1 && errors.Is(err, context.DeadlineExceeded) {
			c.alarmLater(Alarm{Kind: AlarmMaintainer, Attempt: attempt, Err: err})
		}
		timer := time.NewTimer(backoff(c.cfg, attempt))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// bind settles which tables the consumer writes to.
func (c *Consumer) bind(table tableInfo) error {
	c.markSQL, c.processedAtSQL, c.quarantine = markSQL(table.parent()), processedAtSQL(table.parent()), c.cfg.Quarantine
	if _, own := c.quarantine.(QuarantineTable); own {
		if table.quarantine == "" {
			return fmt.Errorf("%w: quarantined_event is missing", ErrNotMigrated)
		}
		c.quarantine = QuarantineTable{schema: table.quarantine}
	}
	c.outboxSQL = insertMessageSQL(qualified(table.outbox, outboxTable))
	c.deadLetterSQL = deadLetterSQL(qualified(table.outbox, outboxTable), table.parent())
	if table.outbox == "" && (c.relay != nil || c.cfg.DeadLetterOutbox) {
		return fmt.Errorf("%w: outbox_message is missing", ErrNotMigrated)
	}
	return c.bindIntents(table)
}

// needsRepair tells whether the table will not become ready by waiting.
func needsRepair(err error) bool {
	if errors.Is(err, ErrNotMigrated) || errors.Is(err, ErrTableUnfit) || errors.Is(err, ErrLayoutMismatch) {
		return true
	}
	code, ok := sqlState(err)
	return ok && judgeSQLState(code) != retry
}

// upkeepFailed turns the maintainer's failures into alarms.
func (c *Consumer) upkeepFailed(attempt int, err error) {
	if attempt == 1 || repeats(attempt) {
		c.alarmLater(Alarm{Kind: AlarmMaintainer, Attempt: attempt, Err: err})
	}
}

// repairPartitions makes the partitions that the window lacks, or lets the
// maintainer know which are gone, so that the next attempt marks or refuses the
// event that found none.
func (c *Consumer) repairPartitions(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := c.maintainer.Prepare(ctx); err != nil {
		c.cfg.Logger.Warn("a partition of processed_event is missing and could not be made", "group", c.cfg.Group, "error", err)
	}
}

// lagKnown is how long an answer about the group's lag is good for: it only gets
// better, and costs reading a batch of every lagging partition.
const lagKnown = 10 * time.Second

// oldestUncommitted is askOldest, but for an answer that is new enough. The
// maintainer asks twice when a consumer starts.
func (c *Consumer) oldestUncommitted(ctx context.Context) (time.Time, bool, error) {
	c.lagMu.Lock()
	defer c.lagMu.Unlock()
	if !c.lagAsked.IsZero() && time.Since(c.lagAsked) < lagKnown {
		return c.lagOldest, true, nil
	}
	oldest, known, err := c.askOldest(ctx)
	if known && err == nil {
		c.lagAsked, c.lagOldest = time.Now(), oldest
	}
	return oldest, known, err
}

// askOldest is the group's OldestUncommitted: it asks the broker where
// the group stands in every partition, whoever owns it, and looks at the record
// that each lagging partition will bring next. Its time is the record's timestamp
// or its event's, whichever is earlier. Without an answer from the broker it is
// unknown, which is no error: marks are kept meanwhile.
func (c *Consumer) askOldest(ctx context.Context) (time.Time, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	now := c.maintainer.Now()
	lagging, err := c.laggingPartitions(ctx)
	if err == nil && len(lagging) == 0 {
		return now, true, nil
	}
	oldest := now
	if err == nil {
		oldest, err = c.oldestAt(ctx, lagging, now)
	}
	if err != nil {
		c.cfg.Logger.Warn("the oldest uncommitted event is unknown; marks are kept", "group", c.cfg.Group, "error", err)
		return time.Time{}, false, nil
	}
	return oldest, true, nil
}

// A stretch is what a partition holds beyond the group's committed offset.
type stretch struct {
	from, end int64
	// open says that a transaction has not ended, so that committed records alone do
	// not tell what may still come.
	open bool
}

// laggingPartitions returns the stretches of those partitions that hold more than the
// group has committed.
func (c *Consumer) laggingPartitions(ctx context.Context) (map[partition]stretch, error) {
	topics := slices.Sorted(maps.Keys(c.handlers))
	admin := kadm.NewClient(c.admin)
	starts, err := admin.ListStartOffsets(ctx, topics...)
	if err = errors.Join(err, starts.Error()); err != nil {
		return nil, fmt.Errorf("listing start offsets: %w", err)
	}
	stable, err := admin.ListCommittedOffsets(ctx, topics...)
	if err = errors.Join(err, stable.Error()); err != nil {
		return nil, fmt.Errorf("listing stable offsets: %w", err)
	}
	ends, err := admin.ListEndOffsets(ctx, topics...)
	if err = errors.Join(err, ends.Error()); err != nil {
		return nil, fmt.Errorf("listing end offsets: %w", err)
	}
	committed, err := admin.FetchOffsetsForTopics(ctx, c.cfg.Group, topics...)
	if err = errors.Join(err, committed.Error()); errors.Is(err, kerr.GroupIDNotFound) {
		committed = nil // a group that never committed begins at the start
	} else if err != nil {
		return nil, fmt.Errorf("fetching committed offsets of group %q: %w", c.cfg.Group, err)
	}
	lagging := make(map[partition]stretch)
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		last, _ := stable.Lookup(end.Topic, end.Partition)
		at := start.Offset
		if o, ok := committed.Lookup(end.Topic, end.Partition); ok {
			at = max(at, o.At)
		}
		if at < end.Offset {
			lagging[partition{end.Topic, end.Partition}] = stretch{from: at, end: end.Offset, open: last.Offset < end.Offset}
		}
	})
	return lagging, nil
}

// oldestAt reads the first record of each stretch that will be delivered, and returns
// the earliest time. Control records and those of aborted transactions never will be,
// so that a stretch of nothing else is no lag.
func (c *Consumer) oldestAt(ctx context.Context, lagging map[partition]stretch, oldest time.Time) (time.Time, error) {
	for _, open := range []bool{false, true} {
		missing := maps.Clone(lagging)
		maps.DeleteFunc(missing, func(_ partition, s stretch) bool { return s.open != open })
		isolation := kgo.ReadCommitted()
		if open {
			isolation = kgo.ReadUncommitted()
		}
		var err error
		if oldest, err = c.probe(ctx, missing, isolation, oldest); err != nil {
			return oldest, err
		}
	}
	return oldest, nil
}

// probe reads stretches until each has brought a record or come to its end.
func (c *Consumer) probe(ctx context.Context, missing map[partition]stretch, isolation kgo.IsolationLevel, oldest time.Time) (time.Time, error) {
	if len(missing) == 0 {
		return oldest, nil
	}
	at := make(map[string]map[int32]kgo.Offset)
	for p, s := range missing {
		if at[p.topic] == nil {
			at[p.topic] = make(map[int32]kgo.Offset)
		}
		at[p.topic][p.id] = kgo.NewOffset().At(s.from)
	}
	client, err := kgo.NewClient(append(c.adminOptions(),
		kgo.ConsumePartitions(at), kgo.KeepControlRecords(), kgo.FetchIsolationLevel(isolation), kgo.FetchMaxPartitionBytes(1<<16))...)
	if err != nil {
		return oldest, fmt.Errorf("configuring Kafka client: %w", err)
	}
	defer client.Close()
	for len(missing) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return oldest, fmt.Errorf("reading the next uncommitted records: %w", err)
		}
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			p := partition{f.Topic, f.Partition}
			s, ok := missing[p]
			if !ok {
				return
			}
			for _, rec := range f.Records {
				if !rec.Attrs.IsControl() && rec.Offset < s.end {
					if at := c.timeOf(rec); at.Before(oldest) {
						oldest = at
					}
					ok = false
				}
				if !ok || rec.Offset >= s.end-1 {
					delete(missing, p)
					client.PauseFetchPartitions(map[string][]int32{p.topic: {p.id}})
					return
				}
			}
		})
	}
	return oldest, nil
}

// original is the record that a redelivery topic's record was.
func (c *Consumer) original(rec *kgo.Record) *kgo.Record {
	if back, ok := c.cfg.redeliveryTopics()[rec.Topic]; ok {
		return back.restore(rec, c.cfg.Group).rec
	}
	return rec
}

// timeOf returns the earlier of a record's timestamp and its event's time.
func (c *Consumer) timeOf(rec *kgo.Record) time.Time {
	at := rec.Timestamp
	var id uuid.UUID
	var err error
	inGoroutine(func() {
		id, err = c.handlers[rec.Topic].newBatch(c.cfg.Decoder, 1).decode(c.original(rec))
	}, func() { err = errGoexit })
	if err != nil {
		return at
	}
	if made, ok := EventTime(id); ok && made.Before(at) {
		return made
	}
	return at
}
