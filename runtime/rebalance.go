package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

var errRevoked = errors.New("the partition was taken away")

// assigned begins a new assignment for every partition the group gives.
func (c *Consumer) assigned(_ context.Context, client *kgo.Client, given map[string][]int32) {
	<-c.ready
	c.joined.Store(true)
	defer c.wantPoll()
	c.release(given, false) // none is held, unless the client missed a revocation
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	client.ResumeFetchPartitions(given) // a pause outlives the assignment it was made for
	for topic, ids := range given {
		if c.handlers[topic] == nil {
			continue
		}
		for _, id := range ids {
			p := partition{topic, id}
			a := newAssignment(c, p)
			c.assignments[p] = a
			a.start()
		}
	}
}

// placed is called with the offsets from which newly assigned partitions will be
// read. Where the group has committed none, that is the log's present start, and it
// is committed before anything has been processed: otherwise a start that moves on
// meanwhile, with records nobody has seen, would not show.
func (c *Consumer) placed(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	var fresh []string
	for topic, partitions := range offsets {
		for _, at := range partitions {
			if at.EpochOffset().Offset < 0 {
				fresh = append(fresh, topic)
				break
			}
		}
	}
	var starts kadm.ListedOffsets
	if len(fresh) > 0 {
		var err error
		if starts, err = kadm.NewClient(c.admin).ListStartOffsets(ctx, fresh...); err != nil {
			return nil, fmt.Errorf("listing the start offsets of %q: %w", fresh, err)
		}
	}
	for topic, partitions := range offsets {
		for id, at := range partitions {
			next := at.EpochOffset().Offset
			if next < 0 {
				start, ok := starts.Lookup(topic, id)
				if !ok || start.Err != nil {
					return nil, fmt.Errorf("listing the start offset of %s/%d: %w", topic, id, errors.Join(start.Err, ctx.Err()))
				}
				next = start.Offset
				partitions[id] = kgo.NewOffset().At(next)
			}
			if a := c.assignment(partition{topic, id}); a != nil {
				a.place(next, at.EpochOffset().Offset < 0)
			}
		}
	}
	return offsets, nil
}

// release ends assignments. If the group still counts this member as their owner
// it waits a little for batches in flight and commits what is completed. When it
// returns, nothing will commit an offset for them any more.
func (c *Consumer) release(taken map[string][]int32, owner bool) {
	<-c.ready
	defer c.wantPoll()
	var ended []*assignment
	c.mu.Lock()
	for topic, ids := range taken {
		for _, id := range ids {
			p := partition{topic, id}
			if a := c.assignments[p]; a != nil {
				ended = append(ended, a)
				delete(c.assignments, p)
			}
		}
	}
	c.mu.Unlock()
	if len(ended) == 0 {
		return
	}
	owner = owner && !c.crashed.Load()
	for _, a := range ended {
		a.close()
	}
	if owner {
		awaitDrained(ended, c.cfg.RevokeTimeout)
	}
	for _, a := range ended {
		a.cancel(errRevoked)
	}
	c.commitMu.Lock()
	defer c.commitMu.Unlock()
	if owner {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.work), offsetCommitTimeout)
		defer cancel()
		if err := c.commitLocked(ctx, ended); err != nil {
			c.cfg.Logger.Info("offset commit before a rebalance failed; the next owner will find duplicates", "group", c.cfg.Group, "error", err)
		}
	}
	for _, a := range ended {
		a.revoked = true
	}
}

// awaitDrained waits until no assignment has a batch in flight, at most d.
func awaitDrained(as []*assignment, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for _, a := range as {
		select {
		case <-a.drained():
		case <-timer.C:
			return
		}
	}
}

// wantCommit wakes the committer.
func (c *Consumer) wantCommit() {
	select {
	case c.commitWake <- struct{}{}:
	default:
	}
}

// commitLoop commits offsets soon after watermarks move, for all partitions in one
// request, and no more often than every CommitInterval.
func (c *Consumer) commitLoop(ctx context.Context) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-c.commitWake:
		case <-ctx.Done():
			return
		}
		failed := c.commitHeld(ctx)
		pause.Reset(min(c.cfg.CommitInterval<<min(failed, 16), max(c.cfg.CommitInterval, maxCommitPause)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

// maxCommitPause bounds the wait before a failed offset commit is sent again.
const maxCommitPause = time.Second

// commitHeld commits for everything assigned now, and returns how many commits
// in a row have failed.
func (c *Consumer) commitHeld(ctx context.Context) int {
	// Not cut off by shutdown: an offset commit that was sent but not awaited
	// could arrive after a later one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), offsetCommitTimeout)
	defer cancel()
	c.commitMu.Lock()
	defer c.commitMu.Unlock()
	c.mu.Lock()
	held := make([]*assignment, 0, len(c.assignments))
	for _, a := range c.assignments {
		held = append(held, a)
	}
	c.mu.Unlock()
	err := c.commitLocked(ctx, held)
	if err == nil {
		c.commitFailed = 0
		return 0
	}
	c.commitFailed++
	c.cfg.Logger.Warn("offset commit failed", "group", c.cfg.Group, "attempt", c.commitFailed, "error", err)
	if repeats(c.commitFailed) {
		c.alarmLater(Alarm{Kind: AlarmOffsetCommit, Attempt: c.commitFailed, Err: err})
	}
	c.wantCommit()
	return c.commitFailed
}

// commitLocked commits the watermarks of those assignments that are not revoked
// and have moved. The caller holds commitMu.
func (c *Consumer) commitLocked(ctx context.Context, as []*assignment) error {
	if c.crashed.Load() {
		return seam.ErrCrash
	}
	moved := make(map[partition]*assignment)
	offsets := make(map[string]map[int32]kgo.EpochOffset)
	for _, a := range as {
		next, ok := a.offset()
		if !ok || a.revoked || next.Offset <= a.committed {
			continue
		}
		moved[a.partition] = a
		if offsets[a.topic] == nil {
			offsets[a.topic] = make(map[int32]kgo.EpochOffset)
		}
		offsets[a.topic][a.id] = next
	}
	if len(moved) == 0 {
		return nil
	}
	if err := c.step(seam.BeforeOffsetCommit); err != nil {
		c.fail(err)
		return err
	}
	var failed error
	began := time.Now()
	c.client.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			failed = fmt.Errorf("committing offsets of group %q: %w", c.cfg.Group, err)
			return
		}
		failed = recordCommits(resp, offsets, moved)
	})
	c.countOffsetCommit(ctx, time.Since(began), failed)
	if err := c.step(seam.AfterOffsetCommit); err != nil {
		c.fail(err)
		return err
	}
	c.stats.offsetCommits.Add(1)
	return failed
}

// recordCommits notes which offsets the broker has accepted and returns the
// errors of the others.
func recordCommits(resp *kmsg.OffsetCommitResponse, sent map[string]map[int32]kgo.EpochOffset, as map[partition]*assignment) error {
	var errs []error
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			a := as[partition{t.Topic, p.Partition}]
			switch {
			case p.ErrorCode != 0:
				errs = append(errs, fmt.Errorf("committing offset %d of %s/%d: %w", sent[t.Topic][p.Partition].Offset, t.Topic, p.Partition, kerr.ErrorForCode(p.ErrorCode)))
			case a != nil:
				a.committed = sent[t.Topic][p.Partition].Offset
			}
		}
	}
	return errors.Join(errs...)
}
