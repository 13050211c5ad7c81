package runtime_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

func TestTransactionMarkersAndAbortedRecordsDoNotHoldBackTheOffset(t *testing.T) {
	w := newWorld(t, 1)
	producer := w.kafka.Client(t, kgo.TransactionalID(w.group), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var kept int
	for i := range 20 {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for _, o := range orders(5, 1) {
			if err := producer.ProduceSync(t.Context(), record(w.topic, 1, o)).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		commit := kgo.TransactionEndTry(i%3 != 0)
		if commit {
			kept += 5
		}
		if err := producer.EndTransaction(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
	}
	last := orders(1, 1)
	w.produce(last...)
	w.start(w.config(), w.queued)
	w.caughtUp()
	w.exactly(kept + 1)
}

func TestAnOffsetOutOfRangeStopsThePartitionAndSkipsNothing(t *testing.T) {
	w := newWorld(t, 2)
	events := orders(40, 8)
	w.produce(events...)
	ends, err := w.kafka.EndOffsets(t.Context(), w.topic)
	if err != nil {
		t.Fatal(err)
	}
	var wrong kadm.Offsets
	wrong.AddOffset(w.topic, 0, ends[0]+100, -1)
	if err := w.admin.CommitAllOffsets(t.Context(), w.group, wrong); err != nil {
		t.Fatal(err)
	}
	w.start(w.config(), w.queued)
	w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) > 0 })
	a := w.alarmsOf(runtime.AlarmPartitionStopped)[0]
	if a.Partition != 0 || !errors.Is(a.Err, kerr.OffsetOutOfRange) {
		t.Errorf("alarm is %+v, want OFFSET_OUT_OF_RANGE of partition 0", a)
	}
	w.eventually("the other partition goes on", func() bool { return w.committed()[1] == ends[1] })
	if at := w.committed()[0]; at != ends[0]+100 {
		t.Errorf("the offset was reset to %d", at)
	}
}

func TestASlowPartitionIsPausedAndHoldsUpNoOther(t *testing.T) {
	w := newWorld(t, 2)
	cfg := w.config()
	cfg.BatchSize, cfg.MaxBuffered = 10, 20
	entered, leave := make(chan struct{}), make(chan struct{})
	var enter sync.Once
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			if e.Record.Partition == 0 {
				enter.Do(func() { close(entered) })
				select {
				case <-leave:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return insertOrder(ctx, tx, e)
		})
	})
	events := orders(4000, 40)
	w.produce(events...)
	<-entered
	ends, err := w.kafka.EndOffsets(t.Context(), w.topic)
	if err != nil {
		t.Fatal(err)
	}
	w.eventually("the other partition catches up", func() bool { return w.committed()[1] == ends[1] })
	w.eventually("the slow partition is paused", func() bool { return len(r.Paused()[w.topic]) == 1 })
	if at, moved := w.committed()[0]; moved {
		t.Errorf("the slow partition has committed %d", at)
	}
	close(leave)
	w.caughtUp()
	w.exactly(4000)
	w.orderedPerKey()
}

func TestASlowPartitionDoesNotHoldUpARebalance(t *testing.T) {
	for _, protocol := range []runtime.Protocol{runtime.Classic, runtime.KIP848} {
		t.Run(protocolName(protocol), func(t *testing.T) {
			w := newWorld(t, 2)
			cfg := w.config()
			cfg.Protocol = protocol
			cfg.RevokeTimeout, cfg.ShutdownTimeout = 50*time.Millisecond, 50*time.Millisecond
			var stuck atomic.Int32
			blocked := func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					stuck.Add(1)
					<-ctx.Done()
					return ctx.Err()
				})
			}
			w.produce(orders(20, 8)...)
			w.start(cfg, blocked)
			w.eventually("both partitions are stuck", func() bool { return stuck.Load() == 2 })
			// The second member gets a partition although the first one's handlers hang.
			var handled atomic.Int32
			w.start(cfg, func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					handled.Add(1)
					return insertOrder(ctx, tx, e)
				})
			})
			w.eventually("the new member works", func() bool { return handled.Load() > 0 })
		})
	}
}

func TestKeysOfAPartitionRunSideBySideAndEachInOrder(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	cfg.Concurrency, cfg.BatchSize = 4, 20
	var now, most atomic.Int32
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.HandleBatch(c, w.topic, func(ctx context.Context, tx pgx.Tx, events []runtime.Event[order]) error {
			n := now.Add(1)
			defer now.Add(-1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			for _, e := range events {
				if err := queueOrder(ctx, tx, e); err != nil {
					return err
				}
			}
			_, err := tx.Exec(ctx, `SELECT pg_sleep(0.002)`)
			return err
		})
	})
	events := orders(3000, 50)
	w.produce(events...)
	w.produce(events[:1000]...)
	w.caughtUp()
	w.exactly(3000)
	w.orderedPerKey()
	if most.Load() < 2 {
		t.Errorf("at most %d batches ran side by side", most.Load())
	}
	t.Logf("%d batches side by side; %+v", most.Load(), r.Stats())
}

func TestWhatCompletesOutOfOrderIsNotCommittedBeforeWhatCameEarlier(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	cfg.Concurrency = 8
	leave := make(chan struct{})
	events := orders(400, 40)
	slow := events[0].Key
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.HandleBatch(c, w.topic, func(ctx context.Context, tx pgx.Tx, batch []runtime.Event[order]) error {
			for _, e := range batch {
				if e.Payload.Key == slow {
					<-leave
				}
				if err := queueOrder(ctx, tx, e); err != nil {
					return err
				}
			}
			return nil
		})
	})
	w.produce(events...)
	w.eventually("other keys are done", func() bool { return r.Stats().Processed > 0 && w.count(`SELECT count(*) FROM ledger`) > 100 })
	if at := w.committed(); len(at) != 0 {
		t.Errorf("offsets %v are committed while the first record is in flight", at)
	}
	close(leave)
	w.caughtUp()
	w.exactly(400)
	w.orderedPerKey()
}

// TestAnOffsetCommitThatFailsIsSentAgain makes the broker fail commits in both
// ways: not applied, and applied but answered with an error.
func TestAnOffsetCommitThatFailsIsSentAgain(t *testing.T) {
	for name, fault := range map[string]*kerr.Error{
		"not applied":          kerr.UnknownServerError,
		"applied nevertheless": kerr.RequestTimedOut,
		"generation is old":    kerr.RebalanceInProgress,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, testpg.New(t), testkafka.Start(t, testkafka.Options{FakeOnly: true}), 2)
			w.monotone()
			w.kafka.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: fault, Count: 6})
			r := w.start(w.config(), w.queued)
			for range 10 {
				w.produce(orders(50, 5)...)
			}
			w.caughtUp()
			w.exactly(500)
			if r.Stats().OffsetCommits < 2 {
				t.Errorf("%d offset commits were sent", r.Stats().OffsetCommits)
			}
		})
	}
}

func TestShutdownFinishesTheBatchInFlightAndCommitsItsOffset(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(30, 3)...)
	cfg := w.config()
	cfg.BatchSize = 10
	entered, leave := make(chan struct{}), make(chan struct{})
	var enter sync.Once
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			enter.Do(func() { close(entered); <-leave })
			return insertOrder(ctx, tx, e)
		})
	})
	<-entered
	r.cancel()
	close(leave)
	if err := r.wait(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	// Another batch may begin before the lane knows that it is to end.
	rows := w.count(`SELECT count(*) FROM ledger`)
	if rows == 0 || rows%10 != 0 {
		t.Errorf("%d effects, want those of whole batches of 10", rows)
	}
	if at := w.committed()[0]; at != int64(rows) {
		t.Errorf("offset %d is committed, want that of the %d effects", at, rows)
	}
	w.noGoroutines()
}

func TestABatchThatOutlastsTheShutdownTimeoutIsRolledBackAndReported(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(5, 1)...)
	cfg := w.config()
	cfg.ShutdownTimeout = 50 * time.Millisecond
	entered := make(chan struct{})
	var enter sync.Once
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			enter.Do(func() { close(entered) })
			if err := insertOrder(ctx, tx, e); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		})
	})
	<-entered
	if err := r.stop(); !errors.Is(err, runtime.ErrDrainTimeout) {
		t.Errorf("Run returned %v, want ErrDrainTimeout", err)
	}
	w.exactly(0)
	w.noGoroutines()
	w.start(w.config(), w.queued)
	w.caughtUp()
	w.exactly(5)
}

func TestShutdownEndsWithinSecondsWhateverIsBroken(t *testing.T) {
	nothing := func(*world) error { return nil }
	cases := map[string]struct{ hurt, mend func(*world) error }{
		"nothing": {nothing, nothing},
		"the broker": {
			func(w *world) error { return w.kafka.Stop(context.Background()) },
			func(w *world) error { return w.kafka.Start(context.Background()) },
		},
		"the database": {
			func(w *world) error { return w.db.Server().Stop(context.Background(), testpg.StopImmediate) },
			func(w *world) error { return w.db.Server().Start(context.Background()) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := testpg.Start(t, testpg.Options{})
			w := newWorldOn(t, server.Database(t), testkafka.Start(t, restartable()), 2)
			r := w.start(w.config(), w.queued)
			w.produce(orders(100, 10)...)
			w.caughtUp()
			if err := tc.hurt(w); err != nil {
				t.Fatal(err)
			}
			_ = r.stop() // which fails the test if it takes longer than anyone waits
			w.noGoroutines()
			if err := tc.mend(w); err != nil {
				t.Error(err)
			}
		})
	}
}

func protocolName(p runtime.Protocol) string {
	return map[runtime.Protocol]string{runtime.Classic: "classic", runtime.KIP848: "KIP-848"}[p]
}

func TestAnExpiredGroupStartsAtTheBeginningAndSkipsWhatItKnows(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(100, 5)...)
	r := w.start(w.config(), w.queued)
	w.caughtUp()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.admin.DeleteGroup(t.Context(), w.group); err != nil {
		t.Fatal(err)
	}
	r = w.start(w.config(), w.queued)
	w.caughtUp()
	w.exactly(100)
	if got := r.Stats().Duplicates; got != 100 {
		t.Errorf("%d duplicates, want 100", got)
	}
}
