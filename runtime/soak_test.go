package runtime_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	goruntime "runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// soakEvents is the number of distinct events of the soak: 60,000 by default,
// IDEMLINT_SOAK_EVENTS for more.
func soakEvents(tb testing.TB) int {
	text := os.Getenv("IDEMLINT_SOAK_EVENTS")
	if text == "" {
		return 60_000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 10_000 {
		tb.Fatalf("IDEMLINT_SOAK_EVENTS=%q is not a number of at least 10000", text)
	}
	return n
}

// TestASoakUnderEverythingAtOnceIsExactAndStaysFlat produces events with 28%
// repeats into six partitions while three members come and go, backends are
// terminated, commit answers are lost and connections are cut. It prints, for each
// tenth, the rate and the heap.
func TestASoakUnderEverythingAtOnceIsExactAndStaysFlat(t *testing.T) {
	n := soakEvents(t)
	w := newWorldOn(t, testpg.New(t), testkafka.Start(t, quick()), 6)
	w.monotone()
	proxy := testpg.NewProxy(t, w.db.URL)
	direct := w.pool
	w.pool = testpg.OpenPool(t, proxy.URL, func(c *pgxpool.Config) { c.MaxConns = 20 })
	cfg := w.config()
	cfg.Concurrency = 2
	cfg.LockTimeout, cfg.BatchTimeout = 500*time.Millisecond, 10*time.Second
	pool := w.pool
	start := func(protocol runtime.Protocol) *running {
		cfg.Protocol = protocol
		w.pool = pool
		defer func() { w.pool = direct }()
		return w.start(cfg, w.queued)
	}
	members := []*running{start(runtime.Classic), start(runtime.Classic), start(runtime.Classic)}
	var stats runtime.Stats
	add := func(s runtime.Stats) {
		stats.Processed += s.Processed
		stats.Duplicates += s.Duplicates
		stats.Retries += s.Retries
		stats.Batches += s.Batches
	}
	var leaving sync.WaitGroup
	var mu sync.Mutex
	replace := func(k int) {
		old := members[k]
		members[k] = start(runtime.Classic)
		leaving.Go(func() {
			_ = old.stop()
			mu.Lock()
			defer mu.Unlock()
			add(old.Stats())
		})
	}
	const tenths = 10
	var rates []float64
	breaks, produced := 0, 0
	for tenth := range tenths {
		began := time.Now()
		var memory goruntime.MemStats
		for chunk := range 10 {
			events := make([]order, n/tenths/10)
			for i := range events {
				events[i] = order{EventID: uuid.Must(uuid.NewV7()), Key: fmt.Sprintf("%d-%d-%d", tenth, chunk, i%100), Seq: i / 100, Amount: 1}
			}
			produced += len(events)
			w.produce(withRepeats(events)...)
			switch breaks++; rand.N(5) {
			case 0:
				proxy.LoseCommitAnswers(1)
			case 1:
				proxy.CutBeforeCommit(1)
			case 2:
				proxy.Cut()
			case 3:
				if _, err := w.db.KillBackends(context.Background()); err != nil {
					t.Fatal(err)
				}
			default:
				replace(rand.N(len(members)))
			}
		}
		w.caughtUp()
		rate := float64(n/tenths) / time.Since(began).Seconds()
		rates = append(rates, rate)
		goruntime.GC()
		goruntime.ReadMemStats(&memory)
		t.Logf("tenth %d: %.0f events/s, heap %d MB (with the fake broker's log), %d goroutines",
			tenth+1, rate, memory.HeapAlloc>>20, goruntime.NumGoroutine())
	}
	for _, m := range members {
		if err := m.stop(); err != nil {
			t.Error(err)
		}
		add(m.Stats())
	}
	leaving.Wait()
	t.Logf("%d breaks; %+v", breaks, stats)
	w.exactly(produced)
	w.orderedPerKey()
	w.noGoroutines()
	t.Logf("last tenth at %.2fx of the second", rates[tenths-1]/rates[1])
}
