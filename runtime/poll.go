package runtime

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// maxPoll bounds the records of one poll; the rest stay in the client's buffer.
const maxPoll = 10_000

// poll hands fetched records to their assignments until ctx ends. It returns what
// fail was called with, if that is why.
func (c *Consumer) poll(ctx context.Context) error {
	defer c.client.AllowRebalance()
	troubles := make(map[partition]*trouble)
	for {
		c.awaitHunger(ctx)
		c.move()
		tick, cancel := context.WithTimeout(ctx, c.pollTick)
		fetches := c.client.PollRecords(tick, maxPoll)
		cancel()
		c.move()
		if ctx.Err() != nil {
			if fatal := c.fatal.Load(); fatal != nil {
				return *fatal
			}
			return nil
		}
		if fetches.IsClientClosed() {
			return fmt.Errorf("polling: %w", kgo.ErrClientClosed)
		}
		// Not errors.Is: to it, a broker's timeout is one of a context, too.
		if fetches.Err0() == context.DeadlineExceeded {
			c.client.AllowRebalance()
			continue // there was nothing to poll
		}
		var wait time.Duration
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			p := partition{f.Topic, f.Partition}
			if len(f.Records) > 0 {
				delete(troubles, p)
				if a := c.assignment(p); a != nil {
					a.sawEnd(f.HighWatermark)
					a.deliver(f.Records)
				}
			}
			if f.Err != nil {
				wait = max(wait, c.fetchFailed(ctx, p, troubles, f.Err))
			}
		})
		c.client.AllowRebalance()
		if wait > 0 {
			select {
			case <-time.After(wait):
			case <-ctx.Done():
			}
		}
		if err := c.step(seam.AfterPoll); err != nil {
			c.fail(err)
		}
	}
}

// awaitHunger waits until a partition needs records, and pauses those that must get
// no more. While none does, as when all of them catch up, records wait in the
// client's buffer, which does not cost fetching them again.
func (c *Consumer) awaitHunger(ctx context.Context) {
	for {
		held := c.held()
		anyHungry, anyWorks := false, false
		for _, a := range held {
			hungry, works := a.hungry()
			anyHungry, anyWorks = anyHungry || hungry, anyWorks || works
		}
		if anyHungry || !anyWorks {
			for _, a := range held {
				a.beforePoll()
			}
			return
		}
		c.moved.Store(restsOnLanes)
		select {
		case <-c.pollWake:
		case <-ctx.Done():
			return
		}
	}
}

// move notes that the poll loop moves.
func (c *Consumer) move() { c.moved.Store(int64(c.clock())) }

// wantPoll wakes the poll loop from awaitHunger.
func (c *Consumer) wantPoll() {
	select {
	case c.pollWake <- struct{}{}:
	default:
	}
}
