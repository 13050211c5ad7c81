package runtime

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// observe begins the span of an attempt at items and returns its context and what to
// call with the attempt's end.
//
// A span is an attempt and not a batch's whole life: that may last for as long as a
// database is away, and what fails is to be seen meanwhile.
func (a *assignment) observe(items []*item) (context.Context, func(*outcome, error)) {
	c := a.consumer
	ctx, span := c.tracer.Start(a.ctx, a.spanName, a.spanOptions...)
	recording := span.IsRecording()
	if recording {
		c.describe(span, items)
	}
	began := time.Now()
	return ctx, func(out *outcome, err error) {
		a.metrics.attempted(ctx, time.Since(began), err)
		if recording {
			conclude(span, out, err)
		}
		span.End()
	}
}

// describe adds what a span says of its records. Links are added to spans that are
// recorded only, and not at the start: reading them from the headers of records would
// cost more than all else here.
func (c *Consumer) describe(span trace.Span, items []*item) {
	if len(items) == 1 {
		span.SetAttributes(semconv.MessagingKafkaOffset(int(items[0].rec.Offset)))
	} else {
		span.SetAttributes(semconv.MessagingBatchMessageCount(len(items)))
	}
	propagator := c.cfg.Propagator
	if propagator == nil {
		propagator = otel.GetTextMapPropagator()
	}
	type origin struct {
		trace trace.TraceID
		span  trace.SpanID
	}
	linked := make(map[origin]struct{}, len(items))
	for _, it := range items {
		from := trace.SpanContextFromContext(propagator.Extract(context.Background(), headers{it.rec}))
		if !from.IsValid() {
			continue
		}
		if _, known := linked[origin{from.TraceID(), from.SpanID()}]; known {
			continue
		}
		linked[origin{from.TraceID(), from.SpanID()}] = struct{}{}
		span.AddLink(trace.Link{SpanContext: from, Attributes: []attribute.KeyValue{semconv.MessagingKafkaOffset(int(it.rec.Offset))}})
	}
}

func conclude(span trace.Span, out *outcome, err error) {
	if err != nil {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
		span.SetAttributes(errorType(err))
		return
	}
	span.SetAttributes(
		attribute.Int("idemlint.batch.processed", out.processed),
		attribute.Int("idemlint.batch.duplicates", out.duplicates),
	)
}

// spanOf returns what every span of a partition begins with.
func spanOf(m *topicMetrics, p partition) (name string, options []trace.SpanStartOption) {
	return "process " + p.topic, []trace.SpanStartOption{
		// The convention's kind where no span stands for the receiving.
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(m.processOp...),
		trace.WithAttributes(semconv.MessagingDestinationPartitionID(strconv.Itoa(int(p.id)))),
	}
}

// headers let a propagator read a record's headers. Of a key that is repeated the last
// one counts, as for Kafka's own clients.
type headers struct{ rec *kgo.Record }

var _ propagation.TextMapCarrier = headers{}

func (h headers) Get(key string) string {
	for i := len(h.rec.Headers) - 1; i >= 0; i-- {
		if h.rec.Headers[i].Key == key {
			return string(h.rec.Headers[i].Value)
		}
	}
	return ""
}

// Set does nothing: a record is read only.
func (h headers) Set(string, string) {}

func (h headers) Keys() []string {
	keys := make([]string, len(h.rec.Headers))
	for i, header := range h.rec.Headers {
		keys[i] = header.Key
	}
	return keys
}
