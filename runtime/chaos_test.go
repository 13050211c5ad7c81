package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// scale multiplies the sizes of the tests that try to break the consumer: 1 in
// the default run, more in a nightly one (IDEMLINT_SCALE=50).
func scale(tb testing.TB) int {
	text := os.Getenv("IDEMLINT_SCALE")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("IDEMLINT_SCALE=%q is not a positive number", text)
	}
	return n
}

// withRepeats returns events in which 28 of 100 records repeat an earlier one of
// the last few hundred, as redeliveries do. The order of first occurrences is kept.
func withRepeats(events []order) []order {
	out := make([]order, 0, len(events)*100/72+1)
	for i, e := range events {
		out = append(out, e)
		for rand.N(100) < 28 {
			out = append(out, events[max(0, i-rand.N(300))])
		}
	}
	return out
}

var protocols = []runtime.Protocol{runtime.Classic, runtime.KIP848}

func TestACrashBetweenAnyTwoStepsLosesAndDoublesNothing(t *testing.T) {
	for _, protocol := range protocols {
		for _, step := range seam.Steps() {
			t.Run(fmt.Sprintf("%s/%s", protocolName(protocol), step), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 2)
				w.monotone()
				n := 300 * scale(t)
				w.produce(withRepeats(orders(n, 20))...)
				cfg := w.config()
				cfg.Protocol, cfg.BatchSize, cfg.Linger = protocol, 20, -1
				crashes := 0
				for i := range 4 {
					var hits atomic.Int64
					at := 1 + rand.Int64N(4)*int64(min(i, 1)) // the first one surely crashes
					ctx := seam.With(context.Background(), func(s seam.Step) error {
						if s == step && hits.Add(1) == at {
							return seam.ErrCrash
						}
						return nil
					})
					r := w.startWith(ctx, cfg, w.queued)
					w.eventually("the consumer crashes or is done", func() bool {
						select {
						case <-r.done:
							return true
						default:
							return w.done()
						}
					})
					if err := r.stop(); errors.Is(err, seam.ErrCrash) {
						crashes++
					}
				}
				w.start(cfg, w.queued)
				w.caughtUp()
				t.Logf("%d crashes", crashes)
				if crashes == 0 {
					t.Error("the consumer never crashed")
				}
				w.exactly(n)
				w.orderedPerKey()
			})
		}
	}
}

// done tells whether the group has committed the end of every partition.
func (w *world) done() bool {
	ends, err := w.kafka.EndOffsets(context.Background(), w.topic)
	if err != nil {
		return false
	}
	at := w.committed()
	for id, end := range ends {
		if end > 0 && at[id] != end {
			return false
		}
	}
	return true
}

// TestAStepThatFailsLikeALostConnectionIsRetried fails every step that touches
// the database now and then, without crashing.
func TestAStepThatFailsLikeALostConnectionIsRetried(t *testing.T) {
	w := newWorld(t, 2)
	w.monotone()
	n := 2000 * scale(t)
	w.produce(withRepeats(orders(n, 20))...)
	cfg := w.config()
	cfg.BatchSize, cfg.Linger = 20, -1
	lost := errors.New("connection lost")
	ctx := seam.With(context.Background(), func(s seam.Step) error {
		if s >= seam.AfterBegin && s <= seam.AfterCommit && rand.N(20) == 0 {
			return lost
		}
		return nil
	})
	r := w.startWith(ctx, cfg, w.queued)
	w.caughtUp()
	w.exactly(n)
	w.orderedPerKey()
	t.Logf("%+v", r.Stats())
	if r.Stats().Retries == 0 {
		t.Error("nothing was retried")
	}
}

func TestRebalancesEvery100MillisecondsLoseAndDoubleNothing(t *testing.T) {
	for _, protocol := range protocols {
		for _, concurrency := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/concurrency %d", protocolName(protocol), concurrency), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 6)
				w.monotone()
				cfg := w.config()
				cfg.Protocol, cfg.Concurrency, cfg.BatchSize = protocol, concurrency, 50
				cfg.RevokeTimeout = 200 * time.Millisecond
				members := []*running{w.start(cfg, w.queued), w.start(cfg, w.queued)}
				total, rebalances := 0, 0
				tick := time.NewTicker(100 * time.Millisecond)
				defer tick.Stop()
				for i := range 25 * scale(t) {
					events := orders(200, 50)
					for j := range events {
						events[j].Key = fmt.Sprintf("%d-%s", i, events[j].Key)
					}
					w.produce(withRepeats(events)...)
					total += len(events)
					<-tick.C
					if len(members) < 3 && rand.N(2) == 0 {
						members = append(members, w.start(cfg, w.queued))
					} else {
						k := rand.N(len(members))
						go members[k].stop()
						members[k] = w.start(cfg, w.queued)
					}
					rebalances++
				}
				w.caughtUp()
				t.Logf("%d membership changes", rebalances)
				w.exactly(total)
				w.orderedPerKey()
			})
		}
	}
}

// TestABreakingDatabaseLosesAndDoublesNothing breaks the connection in one way
// again and again while events are processed.
func TestABreakingDatabaseLosesAndDoublesNothing(t *testing.T) {
	ways := map[string]func(w *world, p *testpg.Proxy) error{
		"answers to COMMIT are lost":      func(_ *world, p *testpg.Proxy) error { p.LoseCommitAnswers(1); return nil },
		"answers to COMMIT never come":    func(_ *world, p *testpg.Proxy) error { p.SwallowCommitAnswers(1); return nil },
		"COMMIT does not arrive":          func(_ *world, p *testpg.Proxy) error { p.CutBeforeCommit(1); return nil },
		"connections are cut":             func(_ *world, p *testpg.Proxy) error { p.Cut(); return nil },
		"backends are terminated":         func(w *world, _ *testpg.Proxy) error { _, err := w.db.KillBackends(w.Context()); return err },
		"connections are refused a while": func(_ *world, p *testpg.Proxy) error { p.Refuse(true); p.Cut(); p.Refuse(false); return nil },
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			w.monotone()
			proxy := testpg.NewProxy(t, w.db.URL)
			direct := w.pool
			w.pool = testpg.OpenPool(t, proxy.URL, func(c *pgxpool.Config) { c.MaxConns = 6 })
			cfg := w.config()
			cfg.BatchSize, cfg.Linger, cfg.BatchTimeout = 20, -1, 500*time.Millisecond
			cfg.LockTimeout = 100 * time.Millisecond
			r := w.start(cfg, w.queued)
			w.pool = direct
			total := 0
			breaks := 8 * scale(t)
			for i := range breaks {
				events := orders(100, 20)
				for j := range events {
					events[j].Key = fmt.Sprintf("%d-%s", i, events[j].Key)
				}
				before := r.Stats().Batches
				w.produce(withRepeats(events)...)
				total += len(events)
				w.eventually("work goes on", func() bool { return r.Stats().Batches > before })
				if err := way(w, proxy); err != nil {
					t.Fatal(err)
				}
			}
			w.caughtUp()
			t.Logf("%d breaks, %+v", breaks, r.Stats())
			w.exactly(total)
			w.orderedPerKey()
			if r.Stats().Retries == 0 {
				t.Error("nothing was retried")
			}
		})
	}
}

func TestRestartsOfPostgreSQLLoseAndDoubleNothing(t *testing.T) {
	for _, mode := range []testpg.StopMode{testpg.StopFast, testpg.StopImmediate} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			server := testpg.Start(t, testpg.Options{Durable: true})
			w := newWorldOn(t, server.Database(t), testkafka.Start(t, quick()), 2)
			w.monotone()
			cfg := w.config()
			cfg.BatchSize = 20
			r := w.start(cfg, w.queued)
			total := 0
			for i := range 3 {
				events := orders(500, 20)
				for j := range events {
					events[j].Key = fmt.Sprintf("%d-%s", i, events[j].Key)
				}
				before := r.Stats().Processed
				w.produce(withRepeats(events)...)
				total += len(events)
				w.eventually("work goes on", func() bool { return r.Stats().Processed > before })
				if err := server.Restart(context.Background(), mode); err != nil {
					t.Fatal(err)
				}
			}
			w.caughtUp()
			w.exactly(total)
			w.orderedPerKey()
			t.Logf("%+v", r.Stats())
		})
	}
}

func TestAConsumerWaitsForADatabaseThatIsDownAtTheStart(t *testing.T) {
	server := testpg.Start(t, testpg.Options{})
	w := newWorldOn(t, server.Database(t), testkafka.Start(t, quick()), 1)
	w.produce(orders(50, 5)...)
	if err := server.Stop(context.Background(), testpg.StopFast); err != nil {
		t.Fatal(err)
	}
	w.start(w.config(), w.queued)
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmMaintainer)) > 0 })
	if err := server.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.caughtUp()
	w.exactly(50)
}

func TestTheOffsetDoesNotMoveWhileTheDatabaseIsDown(t *testing.T) {
	server := testpg.Start(t, testpg.Options{})
	w := newWorldOn(t, server.Database(t), testkafka.Start(t, quick()), 1)
	w.produce(orders(50, 5)...)
	r := w.start(w.config(), w.queued)
	w.caughtUp()
	if err := server.Stop(context.Background(), testpg.StopFast); err != nil {
		t.Fatal(err)
	}
	before := w.committed()[0]
	w.produce(orders(50, 5)...)
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmRetrying)) > 0 })
	if at := w.committed()[0]; at != before {
		t.Errorf("the offset went from %d to %d without a database", before, at)
	}
	if err := server.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.caughtUp()
	w.exactly(100)
	t.Logf("%+v", r.Stats())
}

func TestRestartsOfTheBrokerLoseAndDoubleNothing(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocolName(protocol), func(t *testing.T) {
			w := newWorldOn(t, testpg.New(t), testkafka.Start(t, restartable()), 2)
			w.monotone()
			cfg := w.config()
			cfg.Protocol, cfg.BatchSize = protocol, 20
			r := w.start(cfg, w.queued)
			total := 0
			for i := range 3 {
				events := orders(500, 20)
				for j := range events {
					events[j].Key = fmt.Sprintf("%d-%s", i, events[j].Key)
				}
				before := r.Stats().Processed
				w.produce(withRepeats(events)...)
				total += len(events)
				w.eventually("work goes on", func() bool { return r.Stats().Processed > before })
				if err := w.kafka.Restart(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			w.caughtUp()
			w.exactly(total)
			w.orderedPerKey()
			t.Logf("%+v", r.Stats())
		})
	}
}

// TestALateOwnerDoesNotRewindTheNewOne holds the first owner of a partition
// between PostgreSQL's commit and the watermark until the partition has moved and
// its new owner has committed the end. An offset commit that came now would be
// accepted by the broker and rewind the group.
func TestALateOwnerDoesNotRewindTheNewOne(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocolName(protocol), func(t *testing.T) {
			w := newWorld(t, 2)
			w.monotone()
			cfg := w.config()
			cfg.Protocol, cfg.BatchSize = protocol, 10
			cfg.RevokeTimeout = 20 * time.Millisecond
			w.produce(orders(400, 40)...)
			var held, released atomic.Int32
			release := make(chan struct{})
			let := sync.OnceFunc(func() { close(release) })
			defer let()
			first := w.startWith(seam.With(context.Background(), func(s seam.Step) error {
				switch s {
				case seam.AfterCommit:
					held.Add(1)
					<-release
				case seam.AfterWatermark:
					released.Add(1)
				}
				return nil
			}), cfg, w.queued)
			w.eventually("a batch of either partition is held", func() bool { return held.Load() == 2 })
			second := w.start(cfg, w.queued)
			ends, err := w.kafka.EndOffsets(t.Context(), w.topic)
			if err != nil {
				t.Fatal(err)
			}
			moved := int32(-1)
			w.eventually("the second member commits the end of its partition", func() bool {
				for id, at := range w.committed() {
					if at == ends[id] {
						moved = id
					}
				}
				return moved >= 0
			})
			let()
			w.eventually("the held batches complete", func() bool { return released.Load() >= 2 })
			w.caughtUp()
			// Whatever the first member still had to commit went with this.
			before := first.Stats().OffsetCommits
			last := orders(1, 1)[0]
			last.Key = "last"
			rec := record(w.topic, 1, last)
			rec.Partition = 1 - moved
			w.produceRecords(rec)
			w.caughtUp()
			// The broker has the offset before the member counts it.
			w.eventually("the first member has committed once more", func() bool { return first.Stats().OffsetCommits > before })
			w.exactly(401)
			w.orderedPerKey()
			t.Logf("partition %d moved; first member %+v, second %+v", moved, first.Stats(), second.Stats())
		})
	}
}

// TestAHandlerThatIsDeafToItsContextDoesNotHoldUpTheNextOwner keeps the first
// owner's transaction open in a handler that does not notice its end.
func TestAHandlerThatIsDeafToItsContextDoesNotHoldUpTheNextOwner(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocolName(protocol), func(t *testing.T) {
			w := newWorld(t, 2)
			w.monotone()
			cfg := w.config()
			cfg.Protocol, cfg.BatchSize = protocol, 10
			cfg.RevokeTimeout = 20 * time.Millisecond
			w.produce(orders(400, 40)...)
			var entered atomic.Int32
			release := make(chan struct{})
			let := sync.OnceFunc(func() { close(release) })
			defer let()
			w.start(cfg, func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					entered.Add(1)
					<-release // deaf to its context
					return queueOrder(ctx, tx, e)
				})
			})
			w.eventually("both partitions are in a handler", func() bool { return entered.Load() >= 2 })
			second := w.start(cfg, w.queued)
			w.eventually("the second member works", func() bool {
				select {
				case <-second.done:
					t.Fatal(second.err)
				default:
				}
				return second.Stats().Processed > 0
			})
			let()
			w.caughtUp()
			w.exactly(400)
			w.orderedPerKey()
		})
	}
}
