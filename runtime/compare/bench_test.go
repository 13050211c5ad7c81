package compare

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// runtimeUntil runs the runtime until its handler has been called for the last of count
// events and the batch that holds it is committed.
func (w *world) runtimeUntil(count int, begin func()) {
	w.Helper()
	consumer, err := runtime.New(w.pool, runtime.Config{Brokers: w.kafka.Brokers(), Group: w.group, Logger: silent()})
	if err != nil {
		w.Fatal(err)
	}
	first := sync.OnceFunc(begin)
	runtime.Handle(consumer, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		first()
		return runtime.Queue(ctx, tx, insertSQL, e.ID, e.Payload.Key, e.Payload.Amount)
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for consumer.Stats().Processed < int64(count) && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond) // seldom enough not to count
		}
	}()
	w.await(done)
	cancel()
	if err := <-ended; err != nil {
		w.Error(err)
	}
}

// usage is what a run took from its first event on.
type usage struct{ elapsed, cpu time.Duration }

// measure has consume bring count events to an end.
func measure(b *testing.B, server *testpg.Server, partitions, count int, rtt time.Duration, consume func(w *world, begin func())) usage {
	w := newWorld(b, server, partitions, rtt)
	w.produce(partitions, count, 1)
	w.warmUp(partitions)
	postmaster := testpg.Postmaster(w.direct)
	var at time.Time
	var before time.Duration
	consume(w, func() { at, before = time.Now(), testpg.ProcessorTime(postmaster) })
	used := usage{time.Since(at), testpg.ProcessorTime(postmaster) - before}
	if rows, _ := w.effects(); rows != count {
		b.Fatalf("%d effects of %d events", rows, count)
	}
	if _, err := w.direct.Exec(context.Background(), `TRUNCATE processed_event, ledger`); err != nil {
		b.Fatal(err)
	}
	w.pool.Close()
	w.direct.Close()
	return used
}

// BenchmarkWatermill reports how many times the events that Watermill's handler applies
// the runtime applies in the same time and, with "cpu:", for the same processor time of
// this process (with the fake broker, if it is one) and PostgreSQL: the medians of five
// rounds, in which they take turns. Each iteration is one event for the runtime; Watermill
// gets a twentieth of them, or a hundredth with a round trip of a millisecond, since
// rates are compared. Its clock begins with the first event to reach its handler, as that
// of the runtime does.
func BenchmarkWatermill(b *testing.B) {
	server := testpg.Start(b, testpg.Options{Durable: true})
	handlers := map[string]func(context.Context, *world, order) error{"transaction": inTransaction, "statement": inOneStatement}
	for _, partitions := range []int{1, 8} {
		for _, rtt := range []time.Duration{0, time.Millisecond} {
			b.Run(fmt.Sprintf("partitions=%d/rtt=%s", partitions, rtt), func(b *testing.B) {
				few := max(1, b.N/20)
				if rtt > 0 {
					few = max(1, b.N/100)
				}
				ratios := map[string][]float64{}
				for range min(5, b.N) { // one round for the first call, with N = 1
					ours := measure(b, server, partitions, b.N, rtt, func(w *world, begin func()) { w.runtimeUntil(b.N, begin) })
					for name, handle := range handlers {
						theirs := measure(b, server, partitions, few, rtt, func(w *world, begin func()) { w.watermillUntil(few, begin, handle) })
						share := float64(b.N) / float64(few)
						ratios["queue/"+name] = append(ratios["queue/"+name], share*theirs.elapsed.Seconds()/ours.elapsed.Seconds())
						ratios["cpu:queue/"+name] = append(ratios["cpu:queue/"+name], share*theirs.cpu.Seconds()/ours.cpu.Seconds())
					}
				}
				for name, all := range ratios {
					slices.Sort(all)
					b.ReportMetric(all[len(all)/2], name)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
