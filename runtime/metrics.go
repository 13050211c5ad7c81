package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/semconv/v1.43.0/messagingconv"
)

// scopeName names the package's metrics and spans among those of a process.
const scopeName = "github.com/idemlint/idemlint/runtime"

// Attributes that no semantic convention has.
const (
	outcomeKey   = attribute.Key("idemlint.outcome")    // a fate
	stateKey     = attribute.Key("idemlint.state")      // of an assigned partition
	alarmKindKey = attribute.Key("idemlint.alarm.kind") // an AlarmKind
)

// A fate is what a record came to. Each completed record has one.
type fate string

const (
	processed    fate = "processed"
	duplicate    fate = "duplicate"
	skipped      fate = "skipped" // by the decoder
	quarantined  fate = "quarantined"
	deadLettered fate = "dead_lettered"
	delayed      fate = "delayed" // written to a retry topic
)

// instruments are the consumer's metrics; "Seeing it" in the package documentation
// lists them. Without a provider they cost a call each that does nothing.
type instruments struct {
	consumed   metric.Int64Counter
	operation  metric.Float64Histogram
	process    metric.Float64Histogram
	completed  metric.Int64Counter
	retries    metric.Int64Counter
	isolations metric.Int64Counter
	batchSize  metric.Int64Histogram
	latency    metric.Float64Histogram
	alarms     metric.Int64Counter
	gauges     gauges
}

// shortDurations are the bounds of histograms of what usually takes milliseconds, in
// seconds. The semantic conventions' begin at 5 ms, above most of what is measured here.
var shortDurations = []float64{
	0.001, 0.0025, 0.005, 0.0075, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 30, 60,
}

var batchSizes = []float64{1, 2, 5, 10, 25, 50, 100, 250, 500, maxBatchSize}

func newInstruments(provider metric.MeterProvider) (*instruments, error) {
	meter := provider.Meter(scopeName, metric.WithSchemaURL(semconv.SchemaURL))
	i := &instruments{}
	errs := make([]error, 10)
	var consumed messagingconv.ClientConsumedMessages
	i.consumed, errs[0] = meter.Int64Counter(consumed.Name(),
		metric.WithUnit(consumed.Unit()), metric.WithDescription("Records that polls have brought, repeats included."))
	var operation messagingconv.ClientOperationDuration
	i.operation, errs[1] = meter.Float64Histogram(operation.Name(),
		metric.WithUnit(operation.Unit()), metric.WithDescription("Duration of an offset commit."),
		metric.WithExplicitBucketBoundaries(shortDurations...))
	var process messagingconv.ProcessDuration
	i.process, errs[2] = meter.Float64Histogram(process.Name(),
		metric.WithUnit(process.Unit()), metric.WithDescription("Duration of one attempt at a batch, from decoding to PostgreSQL's commit."),
		metric.WithExplicitBucketBoundaries(shortDurations...))
	i.completed, errs[3] = meter.Int64Counter("idemlint.records.completed",
		metric.WithUnit("{record}"), metric.WithDescription("Records brought to an end, by what they came to."))
	i.retries, errs[4] = meter.Int64Counter("idemlint.retries",
		metric.WithUnit("{attempt}"), metric.WithDescription("Attempts at a batch that failed by no record's fault and are made again."))
	i.isolations, errs[5] = meter.Int64Counter("idemlint.isolations",
		metric.WithUnit("{batch}"), metric.WithDescription("Batches run again in parts to find a record at fault."))
	i.batchSize, errs[6] = meter.Int64Histogram("idemlint.batch.size",
		metric.WithUnit("{record}"), metric.WithDescription("Records in a batch that was brought to an end."),
		metric.WithExplicitBucketBoundaries(batchSizes...))
	i.latency, errs[7] = meter.Float64Histogram("idemlint.commit.latency",
		metric.WithUnit("s"), metric.WithDescription("Time from a record's poll to PostgreSQL's commit."),
		metric.WithExplicitBucketBoundaries(shortDurations...))
	i.alarms, errs[8] = meter.Int64Counter("idemlint.alarms",
		metric.WithUnit("{alarm}"), metric.WithDescription("Alarms raised, by kind."))
	errs[9] = i.gauges.make(meter)
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("making metrics: %w", err)
	}
	return i, nil
}

// topicMetrics are the instruments with the attributes of a topic, made once.
type topicMetrics struct {
	*instruments
	base      []attribute.KeyValue // system, group, topic
	processOp []attribute.KeyValue // what a span and a measurement of processing carry
	polled    []metric.AddOption
	add       []metric.AddOption
	record    []metric.RecordOption
	done      []metric.RecordOption
	fates     map[fate][]metric.AddOption
}

func (i *instruments) forTopic(group, topic string) *topicMetrics {
	base := []attribute.KeyValue{
		semconv.MessagingSystemKafka, semconv.MessagingConsumerGroupName(group), semconv.MessagingDestinationName(topic),
	}
	with := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributeSet(attribute.NewSet(append(base[:len(base):len(base)], more...)...))
	}
	process := []attribute.KeyValue{semconv.MessagingOperationName("process"), semconv.MessagingOperationTypeProcess}
	m := &topicMetrics{
		instruments: i,
		base:        base,
		processOp:   append(base[:len(base):len(base)], process...),
		polled:      []metric.AddOption{with(semconv.MessagingOperationName("poll"), semconv.MessagingOperationTypeReceive)},
		add:         []metric.AddOption{with()},
		record:      []metric.RecordOption{with()},
		done:        []metric.RecordOption{with(process...)},
		fates:       make(map[fate][]metric.AddOption),
	}
	for _, f := range []fate{processed, duplicate, skipped, quarantined, deadLettered, delayed} {
		m.fates[f] = []metric.AddOption{with(outcomeKey.String(string(f)))}
	}
	return m
}

// count adds n records to those that came to f.
func (m *topicMetrics) count(ctx context.Context, f fate, n int) {
	if n > 0 {
		m.completed.Add(ctx, int64(n), m.fates[f]...)
	}
}

// attempted records an attempt at a batch that ended with err.
func (m *topicMetrics) attempted(ctx context.Context, took time.Duration, err error) {
	if !m.process.Enabled(ctx) {
		return
	}
	if err == nil {
		m.process.Record(ctx, took.Seconds(), m.done...)
		return
	}
	m.process.Record(ctx, took.Seconds(), metric.WithAttributes(m.processOp...), metric.WithAttributes(errorType(err)))
}

// committed records how long items took from their poll to now.
func (m *topicMetrics) committed(ctx context.Context, items []*item, now time.Duration) {
	if !m.latency.Enabled(ctx) {
		return
	}
	for _, it := range items {
		m.latency.Record(ctx, (now - it.polled).Seconds(), m.record...)
	}
}

// polledRecords counts records that a poll has brought.
func (a *assignment) polledRecords(n int) {
	a.metrics.consumed.Add(a.ctx, int64(n), a.metrics.polled...)
}

// countBatch counts a run of records that was brought to an end.
func (a *assignment) countBatch(out *outcome) {
	a.consumer.stats.add(out)
	m := a.metrics
	m.count(a.ctx, processed, out.processed)
	m.count(a.ctx, duplicate, out.duplicates)
	m.count(a.ctx, skipped, out.skipped)
	m.count(a.ctx, quarantined, len(out.refused))
	m.batchSize.Record(a.ctx, int64(len(out.items)), m.record...)
}

// countRetry counts an attempt that failed by no record's fault.
func (a *assignment) countRetry(err error) {
	a.consumer.stats.retries.Add(1)
	if m := a.metrics; m.retries.Enabled(a.ctx) {
		m.retries.Add(a.ctx, 1, metric.WithAttributes(m.base...), metric.WithAttributes(errorType(err)))
	}
}

// countIsolation counts a batch that is run again in parts.
func (a *assignment) countIsolation() {
	a.consumer.stats.isolations.Add(1)
	a.metrics.isolations.Add(a.ctx, 1, a.metrics.add...)
}

// countFailed counts a record that was put out of the way, for a while or for good.
func (a *assignment) countFailed(failed FailedRecord) {
	if _, again := a.consumer.cfg.nextTopic(failed); again {
		a.consumer.stats.delayed.Add(1)
		a.metrics.count(a.ctx, delayed, 1)
		return
	}
	a.consumer.stats.deadLettered.Add(1)
	a.metrics.count(a.ctx, deadLettered, 1)
}

// countAlarm counts an alarm that was raised.
func (c *Consumer) countAlarm(a Alarm) {
	c.addAlarms(a.Kind, 1)
}

func (c *Consumer) addAlarms(kind AlarmKind, n int64) {
	c.metrics.alarms.Add(context.Background(), n, metric.WithAttributes(
		semconv.MessagingConsumerGroupName(c.cfg.Group), alarmKindKey.String(string(kind))))
}

// startCounters has counters begin at zero. One that begins at one has no increase that
// an alert could see.
func (c *Consumer) startCounters() {
	for _, kind := range alarmKinds() {
		c.addAlarms(kind, 0)
	}
	for _, m := range c.topics {
		for f := range m.fates {
			m.completed.Add(context.Background(), 0, m.fates[f]...)
		}
		m.isolations.Add(context.Background(), 0, m.add...)
	}
}

// countOffsetCommit records an offset commit that ended with err.
func (c *Consumer) countOffsetCommit(ctx context.Context, took time.Duration, err error) {
	if !c.metrics.operation.Enabled(ctx) {
		return
	}
	attrs := []attribute.KeyValue{
		semconv.MessagingSystemKafka, semconv.MessagingConsumerGroupName(c.cfg.Group),
		semconv.MessagingOperationName("commit"), semconv.MessagingOperationTypeSettle,
	}
	if err != nil {
		attrs = append(attrs, errorType(err))
	}
	c.metrics.operation.Record(ctx, took.Seconds(), metric.WithAttributes(attrs...))
}
