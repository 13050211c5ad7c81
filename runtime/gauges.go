package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// gauges are those metrics that are read when someone collects them.
type gauges struct {
	meter      metric.Meter
	lag        metric.Int64ObservableGauge
	oldest     metric.Float64ObservableGauge
	partitions metric.Int64ObservableGauge
	ahead      metric.Float64ObservableGauge
	kept       metric.Int64ObservableGauge
	groupAge   metric.Float64ObservableGauge
	unsent     metric.Int64ObservableGauge
	unsentAge  metric.Float64ObservableGauge
}

func (g *gauges) make(meter metric.Meter) error {
	g.meter = meter
	errs := make([]error, 8)
	g.lag, errs[0] = meter.Int64ObservableGauge("idemlint.lag",
		metric.WithUnit("{record}"), metric.WithDescription("Offsets between what is completed of an assigned partition and its end."))
	g.oldest, errs[1] = meter.Float64ObservableGauge("idemlint.oldest_uncommitted.age",
		metric.WithUnit("s"), metric.WithDescription("Age of an assigned partition's oldest record that was polled and is not completed, 0 if there is none."))
	g.partitions, errs[2] = meter.Int64ObservableGauge("idemlint.partitions",
		metric.WithUnit("{partition}"), metric.WithDescription("Partitions assigned to this consumer, by what they are at."))
	g.ahead, errs[3] = meter.Float64ObservableGauge("idemlint.dedup.ahead",
		metric.WithUnit("s"), metric.WithDescription("Time from now on for which processed_event has partitions without a gap."))
	g.kept, errs[4] = meter.Int64ObservableGauge("idemlint.dedup.partitions",
		metric.WithUnit("{partition}"), metric.WithDescription("Partitions of processed_event."))
	g.groupAge, errs[5] = meter.Float64ObservableGauge("idemlint.dedup.oldest_uncommitted.age",
		metric.WithUnit("s"), metric.WithDescription("Age of the oldest event that an uncommitted offset of the group may still bring, as of the last upkeep."))
	g.unsent, errs[6] = meter.Int64ObservableGauge("idemlint.outbox.unsent",
		metric.WithUnit("{message}"), metric.WithDescription("Messages of the outbox that are not published yet, counted up to 100,000 by the relay that leads."))
	g.unsentAge, errs[7] = meter.Float64ObservableGauge("idemlint.outbox.oldest_unsent.age",
		metric.WithUnit("s"), metric.WithDescription("Age of the first of them, 0 if there is none."))
	return errors.Join(errs...)
}

// startGauges begins to answer those who collect. The returned function ends it.
func (c *Consumer) startGauges() (stop func(), err error) {
	g := &c.metrics.gauges
	registration, err := g.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		c.collected.Do(func() { close(c.collects) })
		c.observePartitions(o)
		c.observeTable(o)
		c.observeOutbox(o)
		return nil
	}, g.lag, g.oldest, g.partitions, g.ahead, g.kept, g.groupAge, g.unsent, g.unsentAge)
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return func() {
		if err := registration.Unregister(); err != nil {
			c.cfg.Logger.Warn("metrics not unregistered", "group", c.cfg.Group, "error", err)
		}
	}, nil
}

// A partitionState is what an assigned partition is at.
type partitionState string

const (
	stateRunning  partitionState = "running"
	statePaused   partitionState = "paused" // its buffer is full, or it waits for a delayed record to be due
	stateRetrying partitionState = "retrying"
	stateStopped  partitionState = "stopped"
)

// A standing is where an assignment stands.
type standing struct {
	state partitionState
	next  int64     // offset of the first record that is not completed
	end   int64     // of the log, -1 if unknown
	since time.Time // timestamp of the oldest record polled and not completed, zero without one
}

func (a *assignment) standing() standing {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := standing{state: stateRunning, next: a.mark.first(), end: a.end}
	if rec := a.mark.oldest(); rec != nil {
		p.since = rec.Timestamp
	}
	switch {
	case a.stopped != nil:
		p.state = stateStopped
	case a.retrying > 0:
		p.state = stateRetrying
	case a.paused:
		p.state = statePaused
	}
	return p
}

func (c *Consumer) observePartitions(o metric.Observer) {
	g := &c.metrics.gauges
	now := c.maintainer.Now()
	states := make(map[string]map[partitionState]int64, len(c.topics))
	for topic := range c.topics {
		states[topic] = map[partitionState]int64{stateRunning: 0, statePaused: 0, stateRetrying: 0, stateStopped: 0}
	}
	for _, a := range c.held() {
		p := a.standing()
		states[a.topic][p.state]++
		of := metric.WithAttributes(append(a.metrics.base[:len(a.metrics.base):len(a.metrics.base)],
			semconv.MessagingDestinationPartitionID(strconv.Itoa(int(a.id))))...)
		if p.end >= 0 {
			o.ObserveInt64(g.lag, max(0, p.end-p.next), of)
		}
		age := 0.0
		if !p.since.IsZero() {
			age = max(0, now.Sub(p.since).Seconds())
		}
		o.ObserveFloat64(g.oldest, age, of)
	}
	for topic, counts := range states {
		for state, n := range counts {
			o.ObserveInt64(g.partitions, n, metric.WithAttributes(c.topics[topic].base...), metric.WithAttributes(stateKey.String(string(state))))
		}
	}
}

func (c *Consumer) observeTable(o metric.Observer) {
	g := &c.metrics.gauges
	status, now := c.maintainer.Status(), c.maintainer.Now()
	of := metric.WithAttributes(semconv.MessagingConsumerGroupName(c.cfg.Group))
	if status.Refreshed.IsZero() {
		return // nothing is known yet
	}
	if c.cfg.Layout == Partitioned {
		ahead := 0.0
		if !status.AheadUntil.IsZero() {
			ahead = max(0, status.AheadUntil.Sub(now).Seconds())
		}
		o.ObserveFloat64(g.ahead, ahead, of)
		o.ObserveInt64(g.kept, int64(status.Partitions), of)
	}
	if !status.OldestUncommitted.IsZero() {
		o.ObserveFloat64(g.groupAge, max(0, now.Sub(status.OldestUncommitted).Seconds()), of)
	}
}

// observeOutbox tells what waits in the outbox, if the relay at work is this consumer's.
func (c *Consumer) observeOutbox(o metric.Observer) {
	if c.relay == nil {
		return
	}
	b := c.relay.Stats().Backlog
	if b.Counted.IsZero() {
		return
	}
	g := &c.metrics.gauges
	of := metric.WithAttributes(semconv.MessagingConsumerGroupName(c.cfg.Group))
	age := 0.0
	if !b.Oldest.IsZero() {
		age = max(0, time.Since(b.Oldest).Seconds())
	}
	o.ObserveInt64(g.unsent, b.Unsent, of)
	o.ObserveFloat64(g.unsentAge, age, of)
}

// held returns the present assignments.
func (c *Consumer) held() []*assignment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.assignments))
}

// endsInterval is the time between two questions for the ends of the logs. Polls tell
// them too, but not those of partitions that are not fetched.
const endsInterval = 10 * time.Second

// watchEnds asks for the ends of the logs from when metrics are collected until ctx
// ends.
func (c *Consumer) watchEnds(ctx context.Context) {
	select {
	case <-c.collects:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(endsInterval)
	defer tick.Stop()
	known := true
	for {
		err := c.askEnds(ctx)
		if err != nil && known && ctx.Err() == nil {
			c.cfg.Logger.Info("the ends of the logs are unknown; lag is as of before", "group", c.cfg.Group, "error", err)
		}
		known = err == nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// askEnds asks the broker. Without an answer the last one holds: that the broker is
// away shows elsewhere, too.
func (c *Consumer) askEnds(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endsInterval)
	defer cancel()
	ends, err := kadm.NewClient(c.admin).ListEndOffsets(ctx, slices.Sorted(maps.Keys(c.handlers))...)
	for _, a := range c.held() {
		if end, ok := ends.Lookup(a.topic, a.id); ok && end.Err == nil {
			a.sawEnd(end.Offset)
		}
	}
	if err != nil {
		return fmt.Errorf("listing end offsets: %w", err)
	}
	return nil
}

// sawEnd notes the end of the partition's log.
func (a *assignment) sawEnd(end int64) {
	a.mu.Lock()
	a.end = end
	a.mu.Unlock()
}
