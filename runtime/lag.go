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
// and makes the partitions that are missing. It waits for a database that is down.
func (c *Consumer) prepare(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := c.maintainer.Prepare(ctx)
		if err == nil {
			return c.bind(c.maintainer.table())
		}
		if ctx.Err() != nil || needsRepair(err) {
			return err
		}
		c.cfg.Logger.Warn("the table is not ready; trying again", "group", c.cfg.Group, "attempt", attempt, "error", err)
		if repeats(attempt) {
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
	c.markSQL, c.quarantine = markSQL(table.parent()), c.cfg.Quarantine
	if _, own := c.quarantine.(QuarantineTable); own {
		if table.quarantine == "" {
			return fmt.Errorf("%w: quarantined_event is missing", ErrNotMigrated)
		}
		c.quarantine = QuarantineTable{schema: table.quarantine}
	}
	return nil
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

// oldestUncommitted is the group's OldestUncommitted: it asks the broker where
// the group stands in every partition, whoever owns it, and looks at the record
// that each lagging partition will bring next. Its time is the record's timestamp
// or its event's, whichever is earlier. Without an answer from the broker it is
// unknown, which is no error: marks are kept meanwhile.
func (c *Consumer) oldestUncommitted(ctx context.Context) (time.Time, bool, error) {
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

// laggingPartitions returns the offsets at which the group will go on in those
// partitions that hold more.
func (c *Consumer) laggingPartitions(ctx context.Context) (map[string]map[int32]kgo.Offset, error) {
	topics := slices.Sorted(maps.Keys(c.handlers))
	admin := kadm.NewClient(c.admin)
	starts, err := admin.ListStartOffsets(ctx, topics...)
	if err = errors.Join(err, starts.Error()); err != nil {
		return nil, fmt.Errorf("listing start offsets: %w", err)
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
	lagging := make(map[string]map[int32]kgo.Offset)
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		at := start.Offset
		if o, ok := committed.Lookup(end.Topic, end.Partition); ok {
			at = max(at, o.At)
		}
		if at >= end.Offset {
			return
		}
		if lagging[end.Topic] == nil {
			lagging[end.Topic] = make(map[int32]kgo.Offset)
		}
		lagging[end.Topic][end.Partition] = kgo.NewOffset().At(at)
	})
	return lagging, nil
}

// oldestAt reads the first record at each offset and returns the earliest time.
// Control records count: a partition may hold nothing else.
func (c *Consumer) oldestAt(ctx context.Context, at map[string]map[int32]kgo.Offset, oldest time.Time) (time.Time, error) {
	opts := append(slices.Clone(c.cfg.KafkaOptions),
		kgo.SeedBrokers(c.cfg.Brokers...), kgo.ConsumePartitions(at), kgo.KeepControlRecords(), kgo.FetchMaxPartitionBytes(1<<16))
	probe, err := kgo.NewClient(opts...)
	if err != nil {
		return oldest, fmt.Errorf("configuring Kafka client: %w", err)
	}
	defer probe.Close()
	missing := make(map[partition]struct{})
	for topic, offsets := range at {
		for id := range offsets {
			missing[partition{topic, id}] = struct{}{}
		}
	}
	for len(missing) > 0 {
		fetches := probe.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return oldest, fmt.Errorf("reading the next uncommitted records: %w", err)
		}
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			p := partition{f.Topic, f.Partition}
			if _, ok := missing[p]; !ok || len(f.Records) == 0 {
				return
			}
			delete(missing, p)
			if at := c.timeOf(f.Records[0]); at.Before(oldest) {
				oldest = at
			}
			probe.PauseFetchPartitions(map[string][]int32{p.topic: {p.id}})
		})
	}
	return oldest, nil
}

// timeOf returns the earlier of a record's timestamp and its event's time.
func (c *Consumer) timeOf(rec *kgo.Record) time.Time {
	at := rec.Timestamp
	if rec.Attrs.IsControl() {
		return at
	}
	var id uuid.UUID
	var err error
	inGoroutine(func() {
		id, err = c.handlers[rec.Topic].newBatch(c.cfg.Decoder, 1).decode(rec)
	}, func() { err = errGoexit })
	if err != nil {
		return at
	}
	if made, ok := EventTime(id); ok && made.Before(at) {
		return made
	}
	return at
}
