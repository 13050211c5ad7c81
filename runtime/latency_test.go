package runtime_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// polls remembers when each offset of a topic's only partition was polled.
type polls struct{ at sync.Map }

// OnFetchRecordUnbuffered implements kgo.HookFetchRecordUnbuffered.
func (p *polls) OnFetchRecordUnbuffered(r *kgo.Record, polled bool) {
	if polled {
		p.at.Store(r.Offset, time.Now())
	}
}

// BenchmarkLatency measures the time from poll to PostgreSQL's commit at a steady
// 1,000 events a second, and reports percentiles, without and with metrics and with
// a span for every batch. Each iteration is one event: -benchtime 10000x runs ten
// seconds for each.
func BenchmarkLatency(b *testing.B) {
	b.Run("instruments=off", func(b *testing.B) { latency(b, func(*world, *runtime.Config) {}) })
	b.Run("instruments=on", func(b *testing.B) { latency(b, instrumented) })
}

// instrumented gives a consumer a meter that is read twice a second, far more often
// than Prometheus does, and a tracer that keeps every span until it is overwritten.
func instrumented(w *world, cfg *runtime.Config) {
	reader := sdkmetric.NewPeriodicReader(discardMetrics{}, sdkmetric.WithInterval(500*time.Millisecond))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(discardSpans{}))
	cfg.MeterProvider, cfg.TracerProvider, cfg.Propagator = meters, spans, propagation.TraceContext{}
	w.Cleanup(func() {
		_ = meters.Shutdown(context.Background())
		_ = spans.Shutdown(context.Background())
	})
}

type discardMetrics struct{}

func (discardMetrics) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (discardMetrics) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}
func (discardMetrics) Export(context.Context, *metricdata.ResourceMetrics) error { return nil }
func (discardMetrics) ForceFlush(context.Context) error                          { return nil }
func (discardMetrics) Shutdown(context.Context) error                            { return nil }

type discardSpans struct{}

func (discardSpans) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discardSpans) Shutdown(context.Context) error                             { return nil }

func latency(b *testing.B, configure func(*world, *runtime.Config)) {
	w := newWorldOn(b, testpg.Start(b, testpg.Options{Durable: true}).Database(b), testkafka.Start(b, testkafka.Options{}), 1)
	polled := &polls{}
	cfg := w.config()
	cfg.CommitInterval = 0
	cfg.KafkaOptions = []kgo.Opt{kgo.WithHooks(polled)}
	configure(w, &cfg)
	var inFlight []int64 // offsets of the only partition's batch, one at a time
	var latencies []time.Duration
	ctx := seam.With(context.Background(), func(s seam.Step) error {
		if s == seam.AfterCommit {
			now := time.Now()
			for _, offset := range inFlight {
				at, _ := polled.at.LoadAndDelete(offset)
				latencies = append(latencies, now.Sub(at.(time.Time)))
			}
			inFlight = inFlight[:0]
		}
		return nil
	})
	r := w.startWith(ctx, cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			inFlight = append(inFlight, e.Record.Offset)
			return queueOrder(ctx, tx, e)
		})
	})
	w.produce(orders(100, 10)...)
	w.caughtUp()
	b.ResetTimer()
	// Ten events every ten milliseconds, whatever became of the ones before.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for sent := 0; sent < b.N; sent += 10 {
		<-tick.C
		for _, o := range orders(10, 10) {
			rec := record(w.topic, 1, o)
			rec.Headers = []kgo.RecordHeader{{Key: "traceparent", Value: []byte(traceA)}}
			w.send.Produce(context.Background(), rec, nil)
		}
	}
	if err := w.send.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
	w.caughtUp()
	b.StopTimer()
	if err := r.stop(); err != nil {
		b.Fatal(err)
	}
	latencies = latencies[100:]
	slices.Sort(latencies)
	for _, p := range []struct {
		name string
		of   float64
	}{{"p50", 0.50}, {"p99", 0.99}, {"p999", 0.999}} {
		b.ReportMetric(float64(latencies[int(p.of*float64(len(latencies)-1))].Microseconds())/1000, p.name+"-ms")
	}
	b.ReportMetric(0, "ns/op")
}
