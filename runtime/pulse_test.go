package runtime

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/idemlint/idemlint/runtime/internal/seam"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// quietConsumer is a consumer of one topic, and what runs it until the test ends.
func quietConsumer(t *testing.T) (*Consumer, func(seam.Hook)) {
	kafka := testkafka.Start(t, testkafka.Options{})
	pool := testpg.New(t).Pool(t)
	if _, err := Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	c, err := New(pool, Config{
		Brokers: kafka.Brokers(), Group: kafka.Group(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	topic := kafka.Topic(t, 1)
	Handle(c, topic, func(context.Context, pgx.Tx, Event[struct{}]) error { return nil })
	return c, func(hook seam.Hook) {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- c.Run(seam.With(ctx, hook)) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil && !errors.Is(err, seam.ErrCrash) {
				t.Error(err)
			}
		})
		value := []byte(`{"eventId":"` + uuid.Must(uuid.NewV7()).String() + `"}`)
		if err := kafka.Client(t).ProduceSync(ctx, &kgo.Record{Topic: topic, Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// await polls a condition; the package's other harness belongs to its external tests.
func await(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestAnIdlePollLoopMoves(t *testing.T) {
	c, run := quietConsumer(t)
	c.pollTick = 20 * time.Millisecond
	run(nil)
	await(t, "the record is processed", func() bool { return c.Stats().Processed == 1 })
	for range 3 {
		last := c.moved.Load()
		await(t, "the loop moves", func() bool { return c.moved.Load() > last })
	}
}

func TestAPollLoopThatDoesNotMoveEndsLiveness(t *testing.T) {
	c, run := quietConsumer(t)
	polled, leave := make(chan struct{}), make(chan struct{})
	defer close(leave)
	run(func(s seam.Step) error {
		if s == seam.AfterPoll {
			close(polled)
			<-leave
			return seam.ErrCrash
		}
		return nil
	})
	<-polled
	if h := c.liveness(); !h.Live {
		t.Errorf("not live at once, for %q", h.NotLive)
	}
	c.moved.Add(-int64(time.Minute + c.cfg.RevokeTimeout + offsetCommitTimeout))
	if h := c.liveness(); h.Live {
		t.Error("live although the poll loop has not moved for long")
	}
}

func TestAPollLoopThatWaitsForItsLanesIsAlive(t *testing.T) {
	c, _ := quietConsumer(t)
	c.born = time.Now().Add(-time.Hour)
	c.stage.Store(stageRunning)
	c.moved.Store(restsOnLanes)
	if h := c.liveness(); !h.Live {
		t.Errorf("not live, for %q", h.NotLive)
	}
}

// TestWithoutAProviderABatchCostsTheSameHoweverManyItsRecords counts allocations.
func TestWithoutAProviderABatchCostsTheSameHoweverManyItsRecords(t *testing.T) {
	metrics, err := newInstruments(metricnoop.NewMeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	c := &Consumer{metrics: metrics, tracer: tracenoop.NewTracerProvider().Tracer("")}
	a := &assignment{consumer: c, metrics: metrics.forTopic("group", "topic"), ctx: t.Context()}
	a.spanName, a.spanOptions = spanOf(a.metrics, partition{"topic", 0})
	items := make([]*item, 500)
	for i := range items {
		items[i] = &item{rec: &kgo.Record{Headers: []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")}}}}
	}
	out := &outcome{items: items, processed: len(items)}
	allocs := testing.AllocsPerRun(100, func() {
		a.polledRecords(len(items))
		ctx, observed := a.observe(items)
		a.metrics.committed(ctx, items, c.clock())
		observed(out, nil)
		a.countBatch(out)
	})
	t.Logf("%v allocations for a batch of %d records", allocs, len(items))
	if allocs > 8 {
		t.Errorf("%v allocations for a batch of %d records, want a handful", allocs, len(items))
	}
}
