package runtime_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

// A key that another version of this package makes differently would pay again what is
// on its way when it is deployed.
func TestAnIdempotencyKeyNeverChanges(t *testing.T) {
	id := uuid.MustParse("01932c07-5d1a-7bbb-8f3e-6f1f0a3b9c2d")
	got, err := runtime.IdempotencyKey(runtimetest.WithEvent(t.Context(), "billing-service", id), "charge")
	// As Python's uuid.uuid5 makes it of the id and "billing-service\0charge".
	if want := uuid.MustParse("b761c7d7-054f-56b9-bc8e-9383fd12555a"); err != nil || got != want {
		t.Errorf("the key is %s, %v, want %s", got, err, want)
	}
}

func TestEachEventGroupAndStepHasAKeyOfItsOwn(t *testing.T) {
	one, two := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	seen := map[uuid.UUID]string{}
	for name, k := range map[string]struct {
		id          uuid.UUID
		group, step string
	}{
		"the first":     {one, "billing", "charge"},
		"another event": {two, "billing", "charge"},
		"another group": {one, "audit", "charge"},
		"another step":  {one, "billing", "refund"},
		"another split": {one, "billingcharge", "x"},
		"and its like":  {one, "billing", "chargex"},
	} {
		for range 2 { // in two attempts
			key, err := runtime.IdempotencyKey(runtimetest.WithEvent(t.Context(), k.group, k.id), k.step)
			if err != nil {
				t.Fatal(err)
			}
			if other := seen[key]; other != "" && other != name {
				t.Errorf("%s and %s have one key", name, other)
			}
			seen[key] = name
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d keys, want 6: two attempts have one", len(seen))
	}
}

func TestThereIsNoKeyOutsideOfAHandler(t *testing.T) {
	if _, err := runtime.IdempotencyKey(t.Context(), "charge"); !errors.Is(err, runtime.ErrNoEvent) {
		t.Errorf("IdempotencyKey returned %v, want ErrNoEvent", err)
	}
}

func TestThereIsNoKeyWithoutAStep(t *testing.T) {
	ctx := runtimetest.WithEvent(t.Context(), "billing", uuid.Must(uuid.NewV7()))
	if key, err := runtime.IdempotencyKey(ctx, ""); err == nil {
		t.Errorf("IdempotencyKey returned %s for an empty step", key)
	}
}

// handled runs a consumer over events until it has caught up.
func (w *world) handled(cfg runtime.Config, register func(*runtime.Consumer), events ...order) *running {
	w.Helper()
	w.produce(events...)
	r := w.start(cfg, register)
	w.caughtUp()
	return r
}

func TestAKeyIsTheSameInEveryAttemptAtAnEvent(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(10, 2)
	var mu sync.Mutex
	keys := map[uuid.UUID][]uuid.UUID{}
	w.handled(w.config(), func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			key, err := runtime.IdempotencyKey(ctx, "charge")
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			keys[e.ID] = append(keys[e.ID], key)
			if e.ID == events[9].EventID && len(keys[e.ID]) < 3 {
				return context.DeadlineExceeded // the batch is tried again
			}
			return nil
		})
	}, events...)
	all := map[uuid.UUID]bool{}
	for _, e := range events {
		for _, key := range keys[e.EventID] {
			if key != keys[e.EventID][0] {
				t.Errorf("event %s has keys %v", e.EventID, keys[e.EventID])
			}
			all[key] = true
		}
	}
	if len(all) != 10 || len(keys[events[9].EventID]) != 3 {
		t.Errorf("10 events have %d keys, and %d attempts were made at the last", len(all), len(keys[events[9].EventID]))
	}
}

func TestABatchHandlerGetsKeysForOneEventAtATime(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(8, 2)
	var batchErr, strangerErr error
	keys := map[uuid.UUID]bool{}
	w.handled(w.config(), func(c *runtime.Consumer) {
		runtime.HandleBatch(c, w.topic, func(ctx context.Context, tx pgx.Tx, batch []runtime.Event[order]) error {
			_, batchErr = runtime.IdempotencyKey(ctx, "charge")
			_, strangerErr = runtime.IdempotencyKey(runtime.ForEvent(ctx, runtime.Event[order]{ID: uuid.Must(uuid.NewV7())}), "charge")
			for _, e := range batch {
				key, err := runtime.IdempotencyKey(runtime.ForEvent(ctx, e), "charge")
				if err != nil {
					return err
				}
				keys[key] = true
			}
			return nil
		})
	}, events...)
	if len(keys) != 8 {
		t.Errorf("8 events have %d keys", len(keys))
	}
	if !errors.Is(batchErr, runtime.ErrNoEvent) {
		t.Errorf("the batch's own key is %v, want ErrNoEvent", batchErr)
	}
	if !errors.Is(strangerErr, runtime.ErrNoEvent) {
		t.Errorf("the key of an event that is not in the batch is %v, want ErrNoEvent", strangerErr)
	}
}

func TestACallOutsideOfItsEventIsTheCodesMistakeAndNoRecordsFault(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	w.produce(orders(3, 1)...)
	cfg := w.config()
	letters := &shelf{}
	cfg.DeadLetter = letters
	w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(_ context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			_, err := p.charge(context.Background(), charge{Order: e.ID})
			return err
		})
	})
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmRetrying)) > 0 })
	if a := w.alarmsOf(runtime.AlarmRetrying)[0]; !errors.Is(a.Err, runtime.ErrNoEvent) {
		t.Errorf("the alarm is about %v, want ErrNoEvent", a.Err)
	}
	if len(letters.taken()) != 0 || len(w.committed()) != 0 || p.seen() != 0 {
		t.Errorf("%d dead letters, offsets %v and %d calls, want none", len(letters.taken()), w.committed(), p.seen())
	}
}

// TestAnEventTooOldForItsKeyIsParkedAndNotPaid is about handlers in one transaction,
// which know an event's age only from its id.
func TestAnEventTooOldForItsKeyIsParkedAndNotPaid(t *testing.T) {
	for name, register := range map[string]func(*world, *provider) func(*runtime.Consumer){
		"one at a time": (*world).chargesEach, "in batches": (*world).chargesBatch,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			p := newProvider(t)
			events := orders(20, 4)
			old := map[uuid.UUID]bool{}
			for i := range events {
				if i%5 == 2 {
					events[i].EventID = idAt(time.Now().Add(-25 * time.Hour))
					old[events[i].EventID] = true
				}
			}
			cfg := w.config()
			letters := &shelf{}
			cfg.DeadLetter = letters
			r := w.handled(cfg, register(w, p), events...)
			p.movedOnce(16)
			w.exactly(16)
			if n := w.count(`SELECT count(*) FROM quarantined_event WHERE reason = 'idempotency_key_expired' AND event_id = ANY ($1)`, keysOf(old)); n != 4 {
				t.Errorf("%d of 4 old events are in the quarantine", n)
			}
			if s := r.Stats(); s.Quarantined != 4 || len(letters.taken()) != 0 {
				t.Errorf("stats are %+v and %d dead letters, want 4 quarantined", s, len(letters.taken()))
			}
		})
	}
}

func keysOf(set map[uuid.UUID]bool) []uuid.UUID {
	var ids []uuid.UUID
	for id := range set {
		ids = append(ids, id)
	}
	return ids
}

func TestKeysThatNeverExpireAreGivenToOldEvents(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	cfg := w.config()
	cfg.KeyLifetime = -1
	w.handled(cfg, w.chargesEach(p), order{EventID: idAt(time.Now().Add(-48 * time.Hour))})
	p.movedOnce(1)
	w.exactly(1)
}

func TestAnEventWhoseIDTellsNoTimeGetsNoKeyThatExpires(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	w.exec(`DROP SCHEMA public CASCADE`)
	w.exec(`CREATE SCHEMA public`)
	if _, err := runtime.Migrate(t.Context(), w.pool, runtime.Plain); err != nil {
		t.Fatal(err)
	}
	cfg := w.config()
	cfg.Layout = runtime.Plain
	w.handled(cfg, w.chargesEach(p), order{EventID: uuid.New()})
	p.movedOnce(0)
	if n := w.count(`SELECT count(*) FROM quarantined_event WHERE reason = 'idempotency_key_expired'`); n != 1 {
		t.Errorf("%d events are in the quarantine, want 1", n)
	}
}

// chargesEach registers a handler that calls the provider inside of its transaction.
func (w *world) chargesEach(p *provider) func(*runtime.Consumer) {
	return func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			return chargeIn(ctx, tx, p, e)
		})
	}
}

func (w *world) chargesBatch(p *provider) func(*runtime.Consumer) {
	return func(c *runtime.Consumer) {
		runtime.HandleBatch(c, w.topic, func(ctx context.Context, tx pgx.Tx, batch []runtime.Event[order]) error {
			for _, e := range batch {
				if err := chargeIn(runtime.ForEvent(ctx, e), tx, p, e); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

func chargeIn(ctx context.Context, tx pgx.Tx, p *provider, e runtime.Event[order]) error {
	got, err := p.charge(ctx, charge{Order: e.ID, Amount: e.Payload.Amount})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, insertSQL, e.ID, e.Payload.Key, e.Payload.Seq, got.Amount)
	return err
}

// TestMoneyMovesOnceFromATransactionThatIsTriedAgain is for handlers that call the
// provider inside of their transaction: it is rolled back, and the money is not.
func TestMoneyMovesOnceFromATransactionThatIsTriedAgain(t *testing.T) {
	for name, register := range map[string]func(*world, *provider) func(*runtime.Consumer){
		"one at a time": (*world).chargesEach, "in batches": (*world).chargesBatch,
	} {
		for _, step := range []seam.Step{seam.BeforeCommit, seam.AfterCommit} {
			t.Run(name+"/"+step.String(), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 2)
				w.monotone()
				p := newProvider(t)
				// Errors of connections: what else the handler returns would be the record's fault.
				p.mischief = func(int, charge) mischief {
					if rand.N(10) == 0 {
						return drop
					}
					return none
				}
				n := 40 * scale(t)
				w.produce(withRepeats(orders(n, 15))...)
				cfg := w.config()
				cfg.BatchSize = 10
				crashes := 0
				for i := range 3 {
					if w.crashAt(cfg, step, int64(1+i), register(w, p)) {
						crashes++
					}
				}
				w.start(cfg, register(w, p))
				w.caughtUp()
				if crashes == 0 {
					t.Error("the consumer never crashed")
				}
				p.movedOnce(n)
				w.exactly(n)
				w.orderedPerKey()
			})
		}
	}
}
