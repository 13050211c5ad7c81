package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// payment is the call that most tests use: an order is charged and booked.
func payment(p *provider) runtime.Call[order, charge, slip] { return paymentBy(p.charge) }

func paymentBy(pay func(context.Context, charge) (slip, error)) runtime.Call[order, charge, slip] {
	return runtime.Call[order, charge, slip]{
		Step:    "charge",
		Timeout: 2 * time.Second,
		Intent: func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) (charge, error) {
			return charge{Order: e.ID, Amount: e.Payload.Amount}, nil
		},
		Do: func(ctx context.Context, e runtime.Event[order], c charge) (slip, error) {
			return pay(ctx, c)
		},
		Result: func(ctx context.Context, tx pgx.Tx, e runtime.Event[order], r slip) error {
			return runtime.Queue(ctx, tx, insertSQL, e.ID, e.Payload.Key, e.Payload.Seq, r.Amount)
		},
	}
}

// impatient is payment for a provider that answers late, and for a lease that is soon over.
func impatient(p *provider) runtime.Call[order, charge, slip] {
	call := payment(p)
	call.Timeout = 100 * time.Millisecond
	return call
}

func (w *world) pays(call runtime.Call[order, charge, slip]) func(*runtime.Consumer) {
	return func(c *runtime.Consumer) { runtime.HandleCall(c, w.topic, call) }
}

// noIntents asserts that no call is open.
func (w *world) noIntents() {
	w.Helper()
	if n := w.count(`SELECT count(*) FROM call_intent`); n != 0 {
		w.Errorf("%d intents are left", n)
	}
}

// nasty is a provider's mischief for a share of its requests.
func nasty(int, charge) mischief {
	if rand.N(4) > 0 {
		return none
	}
	return []mischief{drop, late, garbled, failed, busy}[rand.N(5)]
}

// TestMoneyMovesOnceOverCrashesAtEachStep has a provider that loses answers, answers
// late and fails, records that are there twice, and a consumer that crashes again and
// again at one step.
func TestMoneyMovesOnceOverCrashesAtEachStep(t *testing.T) {
	for i, step := range append(seam.Steps(), seam.CallSteps()...) {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 2)
			w.monotone()
			p := newProvider(t)
			p.mischief = nasty
			n := 40 * scale(t)
			w.produce(withRepeats(orders(n, 15))...)
			cfg := w.config()
			cfg.Concurrency = 1 + i%2
			crashes := 0
			for i := range 4 {
				if w.crashAt(cfg, step, 1+rand.Int64N(4)*int64(min(i, 1)), w.pays(impatient(p))) {
					crashes++
				}
			}
			w.start(cfg, w.pays(impatient(p)))
			w.caughtUp()
			t.Logf("%d crashes", crashes)
			if crashes == 0 {
				t.Error("the consumer never crashed")
			}
			p.movedOnce(n)
			w.exactly(n)
			w.orderedPerKey()
			w.noIntents()
		})
	}
}

// TestMoneyMovesOnceOverKilledProcesses kills the process with SIGKILL at the steps that
// a call has.
func TestMoneyMovesOnceOverKilledProcesses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2)
	w.monotone()
	p := newProvider(t)
	p.mischief = nasty
	total, kills := 0, 0
	for _, step := range []seam.Step{seam.AfterMark, seam.AfterIntent, seam.AfterCall, seam.BeforeCommit, seam.AfterCommit, seam.AfterWatermark} {
		events := orders(20*scale(t), 10)
		for i := range events {
			events[i].Key = fmt.Sprintf("%s-%s", step, events[i].Key)
		}
		w.produce(withRepeats(events)...)
		total += len(events)
		if w.runVictim(runtime.Classic, step, 1+rand.N(3), p.URL) {
			kills++
		}
	}
	w.runVictim(runtime.Classic, -1, 0, p.URL)
	t.Logf("%d processes were killed", kills)
	if kills < 3 {
		t.Errorf("only %d processes were killed", kills)
	}
	p.movedOnce(total)
	w.exactly(total)
	w.orderedPerKey()
	w.noIntents()
}

// crashAt runs a consumer until it has crashed when it came to a step for the nth time,
// or is done, and tells whether it has crashed.
func (w *world) crashAt(cfg runtime.Config, step seam.Step, n int64, register func(*runtime.Consumer)) bool {
	w.Helper()
	var hits atomic.Int64
	r := w.startWith(seam.With(context.Background(), func(s seam.Step) error {
		if s == step && hits.Add(1) == n {
			return seam.ErrCrash
		}
		return nil
	}), cfg, register)
	w.eventually("the consumer crashes or is done", func() bool {
		select {
		case <-r.done:
			return true
		default:
			return w.done()
		}
	})
	return errors.Is(r.stop(), seam.ErrCrash)
}

// TestACrashInTheMiddleOfACallIsRecoveredFrom looks at what is there after a crash at
// each of the three points, and at what the next consumer makes of it.
func TestACrashInTheMiddleOfACallIsRecoveredFrom(t *testing.T) {
	for name, tc := range map[string]struct {
		step                    seam.Step
		nth                     int64 // of the step's occurrences
		intents, moved, done    int   // after the crash
		calledAgain, foundAgain int   // requests and duplicates of the next consumer
	}{
		"intent written and no call":           {seam.AfterIntent, 1, 1, 0, 0, 1, 0},
		"called and no result":                 {seam.AfterCall, 1, 1, 1, 0, 1, 0},
		"result written, offset not committed": {seam.AfterWatermark, 1, 0, 1, 1, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			p := newProvider(t)
			call := payment(p)
			call.Timeout = 2 * time.Second // far more than a call takes, and a third of the lease that the crash leaves
			w.produce(orders(1, 1)...)
			if !w.crashAt(w.config(), tc.step, tc.nth, w.pays(call)) {
				t.Fatal("it did not crash")
			}
			if got := w.count(`SELECT count(*) FROM call_intent WHERE request IS NOT NULL`); got != tc.intents {
				t.Errorf("%d intents after the crash, want %d", got, tc.intents)
			}
			if got := p.seen(); got != tc.moved {
				t.Errorf("%d calls before the crash, want %d", got, tc.moved)
			}
			if got := w.count(`SELECT count(*) FROM processed_event`); got != tc.done {
				t.Errorf("%d events are marked after the crash, want %d", got, tc.done)
			}
			r := w.start(w.config(), w.pays(call))
			w.caughtUp()
			if got := p.seen() - tc.moved; got != tc.calledAgain {
				t.Errorf("%d calls after the crash, want %d", got, tc.calledAgain)
			}
			if got := r.Stats().Duplicates; got != int64(tc.foundAgain) {
				t.Errorf("%d duplicates after the crash, want %d", got, tc.foundAgain)
			}
			p.movedOnce(1)
			w.exactly(1)
			w.noIntents()
		})
	}
}

func TestNoConnectionIsHeldWhileTheProviderThinks(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	open := make(chan int, 1)
	p.meet = func(charge) {
		open <- w.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`)
	}
	w.produce(orders(1, 1)...)
	call := payment(p)
	call.Timeout = patience
	w.start(w.config(), w.pays(call))
	if n := <-open; n != 0 {
		t.Errorf("%d transactions are open while the provider thinks", n)
	}
	w.caughtUp()
	w.exactly(1)
}

// TestAnEventInTwoConsumersAtOnceIsCalledByOne has the same event in two topics' worth
// of partitions, and so in two lanes, while the first call is in flight.
func TestAnEventInTwoConsumersAtOnceIsCalledByOne(t *testing.T) {
	w := newWorld(t, 2)
	p := newProvider(t)
	var here atomic.Int64
	goOn := make(chan struct{})
	release := sync.OnceFunc(func() { close(goOn) })
	t.Cleanup(release)
	p.meet = func(charge) {
		here.Add(1)
		<-goOn
	}
	event := orders(1, 1)[0]
	first, second := record(w.topic, 1, event), record(w.topic, 1, event)
	second.Partition = 1
	w.produceRecords(first, second)
	call := payment(p)
	call.Timeout = patience
	r := w.start(w.config(), w.pays(call))
	w.eventually("the second lane has found the intent taken", func() bool {
		return here.Load() == 1 && len(r.Paused()) > 0
	})
	release()
	w.caughtUp()
	if got := here.Load(); got != 1 {
		t.Errorf("%d calls, want 1", got)
	}
	if s := r.Stats(); s.Processed != 1 || s.Duplicates != 1 || s.Retries != 0 {
		t.Errorf("stats are %+v, want one event processed, one duplicate and no retry", s)
	}
	p.movedOnce(1)
	w.exactly(1)
}

// TestACallWhoseLeaseIsOverIsMadeAgainByAnother has a consumer that was cut off from
// everything while its call was in flight, and comes back when another has taken over.
func TestACallWhoseLeaseIsOverIsMadeAgainByAnother(t *testing.T) {
	w := newWorld(t, 2)
	p := newProvider(t)
	event := orders(1, 1)[0]
	first, second := record(w.topic, 1, event), record(w.topic, 1, event)
	second.Partition = 1
	asleep, wake := make(chan struct{}), make(chan struct{})
	rouse := sync.OnceFunc(func() { close(wake) })
	var runs atomic.Int64
	call := impatient(p)
	call.Do = func(ctx context.Context, e runtime.Event[order], c charge) (slip, error) {
		if runs.Add(1) == 1 {
			close(asleep)
			<-wake
			ctx = context.WithoutCancel(ctx) // it is deaf, too
		}
		return p.charge(ctx, c)
	}
	r := w.start(w.config(), w.pays(call))
	t.Cleanup(rouse)
	w.produceRecords(first)
	<-asleep
	w.produceRecords(second)
	w.eventually("the other lane has brought the event to its end", func() bool { return r.Stats().Processed == 1 })
	rouse()
	w.caughtUp()
	if got := p.seen(); got != 2 {
		t.Errorf("%d requests, want one of each lane", got)
	}
	p.movedOnce(1)
	w.exactly(1)
	w.noIntents()
}

func TestARequestIsWhatTheIntentSaidHoweverTheWorldChanges(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t) // it fails the test if a key comes with another request
	p.mischief = func(n int, _ charge) mischief {
		if n == 1 {
			return failed
		}
		return none
	}
	w.exec(`CREATE TABLE price (amount int NOT NULL)`)
	w.exec(`INSERT INTO price VALUES (7)`)
	call := payment(p)
	call.Intent = func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) (charge, error) {
		c := charge{Order: e.ID}
		return c, tx.QueryRow(ctx, `UPDATE price SET amount = amount + 1 RETURNING amount`).Scan(&c.Amount)
	}
	w.produce(orders(1, 1)...)
	w.start(w.config(), w.pays(call))
	w.caughtUp()
	p.movedOnce(1)
	if got := w.count(`SELECT amount FROM ledger`); got != 8 {
		t.Errorf("%d was booked, want 8", got)
	}
	if got := w.count(`SELECT amount FROM price`); got != 8 {
		t.Errorf("the intent ran %d times, want once", got-7)
	}
}

func TestAPartitionIsTakenOverAtOnceFromAConsumerThatShutsDown(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	here := make(chan struct{})
	var once sync.Once
	p.meet = func(charge) { once.Do(func() { close(here) }) }
	p.mischief = func(n int, _ charge) mischief {
		if n == 1 {
			return late // as late as it takes
		}
		return none
	}
	w.produce(orders(1, 1)...)
	call := payment(p)
	call.Timeout = time.Hour // and so would the lease
	cfg := w.config()
	cfg.ShutdownTimeout = 10 * time.Millisecond
	r := w.start(cfg, w.pays(call))
	<-here
	if err := r.stop(); !errors.Is(err, runtime.ErrDrainTimeout) {
		t.Errorf("Run returned %v, want ErrDrainTimeout", err)
	}
	w.start(w.config(), w.pays(call))
	w.caughtUp()
	p.movedOnce(1)
	w.exactly(1)
}

func TestACallInFlightAtShutdownIsBroughtToItsEnd(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	here, goOn := make(chan struct{}), make(chan struct{})
	p.meet = func(charge) {
		close(here)
		<-goOn
	}
	w.produce(orders(1, 1)...)
	call := payment(p)
	call.Timeout = patience
	r := w.start(w.config(), w.pays(call))
	<-here
	r.cancel()
	close(goOn)
	if err := r.wait(); err != nil {
		t.Errorf("Run returned %v", err)
	}
	p.movedOnce(1)
	w.exactly(1)
	w.noIntents()
	if !w.done() {
		t.Error("the record's offset is not committed")
	}
	w.noGoroutines()
}

func TestAPanicInACallIsAnUnknownOutcome(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("ouch") }, "Goexit": func() { t.SkipNow() }} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			p := newProvider(t)
			var once sync.Once
			call := payment(p)
			call.Do = func(ctx context.Context, e runtime.Event[order], c charge) (slip, error) {
				got, err := p.charge(ctx, c)
				once.Do(end)
				return got, err
			}
			w.produce(orders(1, 1)...)
			r := w.start(w.config(), w.pays(call))
			w.caughtUp()
			p.movedOnce(1)
			w.exactly(1)
			if r.Stats().Retries != 1 {
				t.Errorf("%d retries, want 1", r.Stats().Retries)
			}
		})
	}
}

func TestMisuseOfHandleCallIsReportedByRun(t *testing.T) {
	w := newWorld(t, 1)
	for want, spoil := range map[string]func(*runtime.Call[order, charge, slip]){
		"Step":      func(c *runtime.Call[order, charge, slip]) { c.Step = "" },
		"Do":        func(c *runtime.Call[order, charge, slip]) { c.Do = nil },
		"Result":    func(c *runtime.Call[order, charge, slip]) { c.Result = nil },
		"Timeout":   func(c *runtime.Call[order, charge, slip]) { c.Timeout = -1 },
		"Parallel":  func(c *runtime.Call[order, charge, slip]) { c.Parallel = 501 },
		"ParkAfter": func(c *runtime.Call[order, charge, slip]) { c.ParkAfter = -1 },
	} {
		t.Run(want, func(t *testing.T) {
			call := payment(newProvider(t))
			spoil(&call)
			c, err := runtime.New(w.pool, w.config())
			if err != nil {
				t.Fatal(err)
			}
			runtime.HandleCall(c, w.topic, call)
			if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "Call."+want) {
				t.Errorf("Run returned %v, want an error about Call.%s", err, want)
			}
		})
	}
}

func TestACallWithoutItsTableIsRefusedAtTheStart(t *testing.T) {
	w := newWorld(t, 1)
	w.exec(`DROP TABLE call_intent`)
	c, err := runtime.New(w.pool, w.config())
	if err != nil {
		t.Fatal(err)
	}
	runtime.HandleCall(c, w.topic, payment(newProvider(t)))
	if err := c.Run(t.Context()); !errors.Is(err, runtime.ErrNotMigrated) {
		t.Errorf("Run returned %v, want ErrNotMigrated", err)
	}
}

// TestEveryCallOfAnEventHasTheKeyThatItsIntentTells compares what is in call_intent
// with what the provider got.
func TestEveryCallOfAnEventHasTheKeyThatItsIntentTells(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	event := orders(1, 1)[0]
	w.produce(event)
	if !w.crashAt(w.config(), seam.AfterCall, 1, w.pays(payment(p))) {
		t.Fatal("it did not crash")
	}
	var key uuid.UUID
	if err := w.pool.QueryRow(t.Context(), `SELECT idempotency_key FROM call_intent`).Scan(&key); err != nil {
		t.Fatal(err)
	}
	var sent []string
	for k := range p.keys {
		sent = append(sent, k)
	}
	if !slices.Equal(sent, []string{key.String()}) {
		t.Errorf("the provider got %v, call_intent has %s", sent, key)
	}
}
