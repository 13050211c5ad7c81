package runtime

import "sync/atomic"

// Stats counts what a consumer has done since it was created.
type Stats struct {
	Batches       int64 // runs of records brought to an end, in one transaction or more
	Processed     int64 // events whose handler's work was committed
	Duplicates    int64 // records whose event had been processed before
	Skipped       int64 // records for which the decoder returned ErrSkip
	Quarantined   int64 // records refused because their id is outside the window
	DeadLettered  int64 // records given to the dead letter
	Delayed       int64 // records written to a retry topic
	Retries       int64 // attempts that failed by no record's fault
	RecordRetries int64 // further attempts at a record by itself that failed by its own fault
	Isolations    int64 // batches run again in parts to find a guilty record
	OffsetCommits int64 // offset commits sent
}

type stats struct {
	batches, processed, duplicates, skipped, quarantined, deadLettered, delayed, retries, recordRetries, isolations, offsetCommits atomic.Int64
}

func (s *stats) add(out *outcome) {
	s.batches.Add(1)
	s.processed.Add(int64(out.processed))
	s.duplicates.Add(int64(out.duplicates))
	s.skipped.Add(int64(out.skipped))
	s.quarantined.Add(int64(len(out.refused)))
}

// Stats returns the counts so far. Records are counted when they are completed,
// so what is redelivered after a lost commit answer counts as a duplicate.
func (c *Consumer) Stats() Stats {
	s := &c.stats
	return Stats{
		Batches: s.batches.Load(), Processed: s.processed.Load(), Duplicates: s.duplicates.Load(),
		Skipped: s.skipped.Load(), Quarantined: s.quarantined.Load(), DeadLettered: s.deadLettered.Load(), Delayed: s.delayed.Load(),
		Retries: s.retries.Load(), RecordRetries: s.recordRetries.Load(), Isolations: s.isolations.Load(), OffsetCommits: s.offsetCommits.Load(),
	}
}

// Paused returns the partitions that are not fetched now because they are
// stopped, wait before another attempt, or have too much buffered, by topic.
func (c *Consumer) Paused() map[string][]int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	paused := make(map[string][]int32)
	for p, a := range c.assignments {
		a.mu.Lock()
		if a.paused {
			paused[p.topic] = append(paused[p.topic], p.id)
		}
		a.mu.Unlock()
	}
	return paused
}
