package runtime_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
)

func TestAHandlerThatDoesNotReturnRaisesAnAlarm(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(5, 1)...)
	cfg := w.config()
	cfg.BatchTimeout, cfg.ShutdownTimeout = 500*time.Millisecond, 50*time.Millisecond // the first bounds looking for the table, too
	leave := make(chan struct{})
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			<-leave
			return insertOrder(ctx, tx, e)
		})
	})
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmStuck)) > 1 })
	if paused := r.Paused()[w.topic]; len(paused) != 1 {
		t.Errorf("paused partitions are %v, want the stuck one", paused)
	}
	close(leave)
	w.caughtUp()
	w.exactly(5)
}

func TestAnExhaustedPoolRaisesAnAlarm(t *testing.T) {
	w := newWorld(t, 1)
	w.prepareTable()
	w.produce(orders(5, 1)...)
	w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
	taken, err := w.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cfg := w.config()
	cfg.BatchTimeout = 500 * time.Millisecond // bounds looking for the table, too
	w.start(cfg, w.queued)
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmRetrying)) > 0 })
	taken.Release()
	w.caughtUp()
	w.exactly(5)
}

// waitingShelf is a dead letter that waits for its context, as a producer whose broker
// is away does.
type waitingShelf struct {
	shelf
	calls atomic.Int64
}

func (s *waitingShelf) Put(ctx context.Context, r runtime.FailedRecord) error {
	if s.calls.Add(1) <= 2 {
		<-ctx.Done()
		return errors.New("not written")
	}
	return s.shelf.Put(ctx, r)
}

func TestADeadLetterThatOnlyWaitsIsEndedAndCalledAgain(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(5, 1)
	events[2].Amount = -1
	w.produce(events...)
	kept := &waitingShelf{}
	cfg := w.config()
	cfg.DeadLetter, cfg.BatchTimeout = kept, time.Second
	w.start(cfg, w.queued)
	w.caughtUp()
	w.exactly(4)
	if len(w.alarmsOf(runtime.AlarmDeadLetter)) == 0 || len(kept.taken()) != 1 {
		t.Errorf("%d alarms and %d dead letters", len(w.alarmsOf(runtime.AlarmDeadLetter)), len(kept.taken()))
	}
}

func TestAnAlarmHookThatPanicsOrHangsStopsNothing(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(5, 1)
	events[2].Amount = -1
	w.produce(events...)
	kept := &shelf{fail: func(attempt int) error {
		if attempt <= 25 {
			return errors.New("not yet") // two alarms
		}
		return nil
	}}
	leave := make(chan struct{})
	defer close(leave)
	var calls atomic.Int64
	cfg := w.config()
	cfg.BackoffMax = 10 * time.Millisecond
	cfg.DeadLetter = kept
	cfg.OnAlarm = func(runtime.Alarm) {
		if calls.Add(1) == 1 {
			panic("planned")
		}
		<-leave
	}
	r := w.start(cfg, w.queued)
	w.caughtUp()
	w.exactly(4)
	w.eventually("the second call", func() bool { return calls.Load() == 2 })
	if err := r.stop(); err != nil {
		t.Error(err)
	}
}

// TestAConnectionThatFailsForItselfAloneIsReplaced has one event leave the session in a
// state in which the runtime's own statements fail.
func TestAConnectionThatFailsForItselfAloneIsReplaced(t *testing.T) {
	for name, sql := range map[string]string{
		"read only": `SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY`,
		"role":      `SET ROLE pg_monitor`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
			w.produce(orders(5, 1)...)
			var once atomic.Bool
			w.start(w.config(), func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					if err := insertOrder(ctx, tx, e); err != nil || e.Payload.Seq != 4 || !once.CompareAndSwap(false, true) {
						return err
					}
					_, err := tx.Exec(ctx, sql)
					return err
				})
			})
			w.caughtUp()
			w.produce(orders(5, 1)...)
			w.caughtUp()
			w.exactly(10)
		})
	}
}

func TestAConsumerThatWaitsForAnotherSessionsUpkeepRaisesAnAlarm(t *testing.T) {
	w := newWorld(t, 1)
	holder, err := w.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Release()
	if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_lock($1::bigint << 32 | 'processed_event'::regclass::oid::bigint)`, 0x69646d70); err != nil {
		t.Fatal(err)
	}
	cfg := w.config()
	cfg.BatchTimeout = 300 * time.Millisecond
	w.start(cfg, w.queued)
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmMaintainer)) > 0 })
	if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_unlock_all()`); err != nil {
		t.Fatal(err)
	}
	w.produce(orders(5, 1)...)
	w.caughtUp()
	w.exactly(5)
}
