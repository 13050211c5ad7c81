package runtime_test

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemlint/idemlint/runtime"
)

// traced has the consumer of cfg record its spans in what it returns.
func (w *world) traced(cfg *runtime.Config) *tracetest.SpanRecorder {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	cfg.TracerProvider, cfg.Propagator = provider, propagation.TraceContext{}
	w.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return recorder
}

// attributesOf returns a span's attributes as text.
func attributesOf(span sdktrace.ReadOnlySpan) map[string]string {
	out := make(map[string]string)
	for _, kv := range span.Attributes() {
		out[string(kv.Key)] = kv.Value.Emit()
	}
	return out
}

const (
	traceA = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	traceB = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)

func TestASpanOfABatchIsLinkedToItsProducersSpans(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	spans := w.traced(&cfg)
	var recs []*kgo.Record
	for i, o := range orders(5, 1) {
		rec := record(w.topic, 1, o)
		switch i {
		case 0, 1:
			rec.Headers = []kgo.RecordHeader{{Key: "traceparent", Value: []byte(traceA)}}
		case 2: // the last one counts
			rec.Headers = []kgo.RecordHeader{{Key: "traceparent", Value: []byte(traceA)}, {Key: "traceparent", Value: []byte(traceB)}}
		case 3:
			rec.Headers = []kgo.RecordHeader{{Key: "traceparent", Value: []byte("nonsense")}}
		}
		recs = append(recs, rec)
	}
	w.produceRecords(recs...)
	w.start(cfg, w.queued)
	w.caughtUp()
	w.eventually("a span", func() bool { return len(spans.Ended()) == 1 })

	span := spans.Ended()[0]
	if span.Name() != "process "+w.topic || span.SpanKind() != trace.SpanKindConsumer || span.Status().Code != codes.Unset {
		t.Errorf("span %q of kind %s, status %v", span.Name(), span.SpanKind(), span.Status())
	}
	var links []string
	for _, l := range span.Links() {
		links = append(links, l.SpanContext.TraceID().String()+" "+l.SpanContext.SpanID().String())
	}
	if len(links) != 2 || links[0] != "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7" || links[1] != "0af7651916cd43dd8448eb211c80319c b7ad6b7169203331" {
		t.Errorf("links are %q", links)
	}
	attrs := attributesOf(span)
	for key, want := range map[string]string{
		"messaging.system": "kafka", "messaging.operation.name": "process", "messaging.operation.type": "process",
		"messaging.destination.name": w.topic, "messaging.destination.partition.id": "0",
		"messaging.consumer.group.name": w.group, "messaging.batch.message_count": "5",
		"idemlint.batch.processed": "5", "idemlint.batch.duplicates": "0",
	} {
		if attrs[key] != want {
			t.Errorf("%s is %q, want %q", key, attrs[key], want)
		}
	}
}

func TestTheHandlersContextCarriesTheSpan(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	spans := w.traced(&cfg)
	w.produce(orders(1, 1)...)
	var mu sync.Mutex
	var inside trace.SpanContext
	w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			mu.Lock()
			defer mu.Unlock()
			inside = trace.SpanContextFromContext(ctx)
			return insertOrder(ctx, tx, e)
		})
	})
	w.caughtUp()
	w.eventually("a span", func() bool { return len(spans.Ended()) == 1 })
	mu.Lock()
	defer mu.Unlock()
	if span := spans.Ended()[0]; !inside.IsValid() || inside.SpanID() != span.SpanContext().SpanID() {
		t.Errorf("the handler's span is %v, the batch's %v", inside, span.SpanContext())
	}
	if offset := attributesOf(spans.Ended()[0])["messaging.kafka.offset"]; offset != "0" {
		t.Errorf("the offset of a single record is %q", offset)
	}
}

func TestAFailedAttemptIsASpanWithItsError(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	spans := w.traced(&cfg)
	w.produce(orders(5, 1)...)
	w.start(cfg, w.failOnce("40001"))
	w.caughtUp()
	w.eventually("two spans", func() bool { return len(spans.Ended()) == 2 })
	failed, done := spans.Ended()[0], spans.Ended()[1]
	if failed.Status().Code != codes.Error || attributesOf(failed)["error.type"] != "40001" {
		t.Errorf("the first attempt's status is %v, its error %q", failed.Status(), attributesOf(failed)["error.type"])
	}
	if len(failed.Events()) != 1 || failed.Events()[0].Name != "exception" {
		t.Errorf("the first attempt's events are %v, want its error", failed.Events())
	}
	if done.Status().Code != codes.Unset || len(done.Events()) != 0 {
		t.Errorf("the second attempt's status is %v with %d events", done.Status(), len(done.Events()))
	}
}

func TestASpanThatIsNotSampledReadsNoHeaders(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	reads := &countingPropagator{}
	cfg.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	cfg.Propagator = reads
	w.produce(orders(20, 1)...)
	w.start(cfg, w.queued)
	w.caughtUp()
	reads.mu.Lock()
	defer reads.mu.Unlock()
	if reads.n != 0 {
		t.Errorf("headers were read %d times for a span that nobody keeps", reads.n)
	}
}

// countingPropagator counts how often it is asked.
type countingPropagator struct {
	propagation.TraceContext
	mu sync.Mutex
	n  int
}

func (p *countingPropagator) Extract(ctx context.Context, carrier propagation.TextMapCarrier) context.Context {
	p.mu.Lock()
	p.n++
	p.mu.Unlock()
	return p.TraceContext.Extract(ctx, carrier)
}
