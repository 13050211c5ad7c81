package runtime_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
)

func TestAnIntentTooOldForItsKeyIsParkedAndNotPaidAgain(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	call := payment(p)
	call.Timeout = 2 * time.Second // far more than a call takes, and a third of the lease that the crash leaves
	p.mischief = func(n int, _ charge) mischief {
		if n == 1 {
			return drop
		}
		return none
	}
	events := orders(2, 1)
	w.produce(events[0])
	if !w.crashAt(w.config(), seam.AfterCall, 1, w.pays(call)) {
		t.Fatal("it did not crash")
	}
	p.forget()
	w.exec(`UPDATE call_intent SET began_at = began_at - interval '24 hours'`)
	w.produce(events[1])
	r := w.start(w.config(), w.pays(call))
	w.caughtUp()
	p.movedOnce(2)
	if n := w.count(`SELECT count(*) FROM quarantined_event WHERE event_id = $1 AND reason = 'idempotency_key_expired'`, events[0].EventID); n != 1 {
		t.Errorf("the event is in the quarantine %d times, want once", n)
	}
	if n := w.count(`SELECT count(*) FROM ledger WHERE event_id = $1`, events[1].EventID); n != 1 {
		t.Errorf("the event after it was booked %d times, want once", n)
	}
	if n := w.count(`SELECT count(*) FROM call_intent WHERE parked_at IS NOT NULL`); n != 1 {
		t.Errorf("%d intents are marked as parked, want 1", n)
	}
	if s := r.Stats(); s.Quarantined != 1 || s.DeadLettered != 0 {
		t.Errorf("stats are %+v, want one event quarantined", s)
	}
	// What a person does who has found that the first one was not paid after all.
	w.exec(`DELETE FROM call_intent WHERE event_id = $1`, events[0].EventID)
	w.produce(events[0])
	w.caughtUp()
	w.exactly(2)
}

// TestAnOldEventThatWasNeverTriedIsCalled shows what the intent knows and an id does not.
func TestAnOldEventThatWasNeverTriedIsCalled(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	event := order{EventID: idAt(time.Now().Add(-48 * time.Hour)), Key: "old"}
	w.produce(event)
	w.start(w.config(), w.pays(payment(p)))
	w.caughtUp()
	p.movedOnce(1)
	w.exactly(1)
}

func TestACallWhoseOutcomeStaysUnknownIsParked(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	events := orders(6, 3)
	p.mischief = func(_ int, c charge) mischief {
		if c.Order == events[1].EventID {
			return failed
		}
		return none
	}
	w.produce(events...)
	call := payment(p)
	call.ParkAfter = 50 * time.Millisecond
	r := w.start(w.config(), w.pays(call))
	w.caughtUp()
	p.movedOnce(6)
	w.exactly(5)
	if n := w.count(`SELECT count(*) FROM quarantined_event WHERE event_id = $1 AND reason = 'call_outcome_unknown'`, events[1].EventID); n != 1 {
		t.Errorf("the event is in the quarantine %d times, want once", n)
	}
	if n := w.count(`SELECT count(*) FROM call_intent WHERE attempts >= 1 AND last_error LIKE '%500%' AND parked_at IS NOT NULL`); n != 1 {
		t.Error("its intent does not tell what it failed with")
	}
	if r.Stats().Quarantined != 1 {
		t.Errorf("stats are %+v, want one event quarantined", r.Stats())
	}
}

func TestADefiniteFailureIsDeadLetteredAndOthersArePaid(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	events := orders(30, 5)
	p.mischief = func(_ int, c charge) mischief {
		if c.Order == events[7].EventID {
			return declined
		}
		return none
	}
	w.produce(events...)
	cfg := w.config()
	letters := &shelf{}
	cfg.DeadLetter = letters
	w.start(cfg, w.pays(payment(p)))
	w.caughtUp()
	p.movedOnce(29)
	w.exactly(29)
	w.noIntents()
	w.orderedPerKey()
	failed := letters.taken()
	if len(failed) != 1 || failed[0].EventID != events[7].EventID || !errors.Is(failed[0].Err, errDeclined) {
		t.Errorf("dead letters are %+v, want the declined event", failed)
	}
}

func TestADefiniteFailureWithoutADeadLetterStopsThePartitionAtIt(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	events := orders(10, 1)
	p.mischief = func(_ int, c charge) mischief {
		if c.Order == events[4].EventID {
			return declined
		}
		return none
	}
	w.produce(events...)
	r := w.start(w.config(), w.pays(payment(p)))
	w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) == 1 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if at := w.committed()[0]; at != 4 {
		t.Errorf("offset %d is committed, want the declined event's 4", at)
	}
	if a := w.alarmsOf(runtime.AlarmPartitionStopped)[0]; a.Offset != 4 || !errors.Is(a.Err, errDeclined) {
		t.Errorf("it stopped at %d with %v, want the declined event's 4", a.Offset, a.Err)
	}
	p.movedOnce(4)
	w.exactly(4)
}

func TestAResultThatCannotBeWrittenIsDeadLetteredAndItsIntentShowsTheCall(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	events := orders(10, 2)
	events[3].Amount = -1 // which the ledger refuses
	w.produce(events...)
	cfg := w.config()
	letters := &shelf{}
	cfg.DeadLetter = letters
	w.start(cfg, w.pays(payment(p)))
	w.caughtUp()
	p.movedOnce(10)
	w.exactly(9)
	if got := p.seen(); got != 10 {
		t.Errorf("%d requests, want 10: what is known need not be asked again", got)
	}
	if failed := letters.taken(); len(failed) != 1 || failed[0].EventID != events[3].EventID {
		t.Errorf("dead letters are %+v, want the event that cannot be booked", failed)
	}
	if n := w.count(`SELECT count(*) FROM call_intent WHERE event_id = $1`, events[3].EventID); n != 1 {
		t.Errorf("%d intents of the event are left, want 1", n)
	}
}

func TestAnIntentThatFailsIsDeadLetteredAndNothingIsCalled(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	events := orders(10, 2)
	call := payment(p)
	call.Intent = func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) (charge, error) {
		if e.ID == events[6].EventID {
			return charge{}, errors.New("no such customer")
		}
		return charge{Order: e.ID}, nil
	}
	w.produce(events...)
	cfg := w.config()
	letters := &shelf{}
	cfg.DeadLetter = letters
	w.start(cfg, w.pays(call))
	w.caughtUp()
	p.movedOnce(9)
	w.noIntents()
	if failed := letters.taken(); len(failed) != 1 || failed[0].EventID != events[6].EventID {
		t.Errorf("dead letters are %+v, want the event without an intent", failed)
	}
}

// TestARecordThatCannotBeDecodedStopsThePartitionAfterTheCallsBeforeIt also shows that
// the records after it are not called.
func TestARecordThatCannotBeDecodedStopsThePartitionAfterTheCallsBeforeIt(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	events := orders(6, 6)
	bad := record(w.topic, 1, events[3])
	bad.Value = []byte("{")
	for i, e := range events {
		if i == 3 {
			w.produceRecords(bad)
			continue
		}
		w.produce(e)
	}
	r := w.start(w.config(), w.pays(payment(p)))
	w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) == 1 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if at := w.committed()[0]; at != 3 {
		t.Errorf("offset %d is committed, want the bad record's 3", at)
	}
	p.movedOnce(3)
	w.exactly(3)
}

// TestAnUnknownOutcomeHoldsUpItsKeyAndNoOther has an event whose call fails until others
// are paid.
func TestAnUnknownOutcomeHoldsUpItsKeyAndNoOther(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	events := orders(6, 2) // the keys take turns
	p.mischief = func(_ int, c charge) mischief {
		if c.Order == events[0].EventID && w.count(`SELECT count(*) FROM ledger WHERE key = $1`, events[1].Key) < 3 {
			return busy
		}
		return none
	}
	w.produce(events...)
	w.start(w.config(), w.pays(payment(p)))
	w.caughtUp()
	w.exactly(6)
	w.orderedPerKey()
	if n := w.count(`SELECT count(*) FROM ledger l JOIN ledger first ON first.event_id = $1 WHERE l.key = $2 AND l.n < first.n`,
		events[0].EventID, events[1].Key); n != 3 {
		t.Errorf("%d events of the other key were booked before it, want 3", n)
	}
}

// TestACallThatFailsForNowIsPaidFromTheRetryTopic is about a record that is handled by
// the handler of the topic it came from, which is that of a call and not of a batch.
func TestACallThatFailsForNowIsPaidFromTheRetryTopic(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	cfg, dlq := w.tiered(30 * time.Millisecond)
	events := orders(12, 4)
	var failed atomic.Int64
	call := payment(p)
	intent := call.Intent
	call.Intent = func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) (charge, error) {
		if e.ID == events[5].EventID && failed.Add(1) <= 2 { // with others, and by itself
			return charge{}, errNoCustomer
		}
		return intent(ctx, tx, e)
	}
	w.produce(events...)
	r := w.start(cfg, w.pays(call))
	w.caughtUp()
	w.eventually("the retry topic is consumed", func() bool { return w.committedTo(cfg.RetryTopics[0].Topic) == 1 })
	p.movedOnce(12)
	w.exactly(12)
	w.noIntents()
	if s := r.Stats(); s.Delayed != 1 || len(w.contents(dlq)) != 0 {
		t.Errorf("stats are %+v, want one record delayed and no dead letter", s)
	}
}

// TestACallWhoseResultIsReplayedIsNotPaidAgain mends what the result failed by: the money
// had moved by then.
func TestACallWhoseResultIsReplayedIsNotPaidAgain(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	cfg, how := w.replayable()
	events := orders(8, 2)
	events[3].Amount = -1 // which the ledger refuses
	w.produce(events...)
	r := w.start(cfg, w.pays(payment(p)))
	w.caughtUp()
	w.exactly(7)
	w.exec(`ALTER TABLE ledger DROP CONSTRAINT positive`)
	for range 2 {
		if done := replayed(t, how); done.Written != 1 {
			t.Fatalf("%+v was replayed, want one record", done)
		}
	}
	w.eventually("the replays are consumed", func() bool { return w.committedTo(cfg.ReplayTopic) == 2 })
	p.movedOnce(8)
	w.exactly(8)
	w.noIntents()
	if s := r.Stats(); s.Duplicates != 1 {
		t.Errorf("stats are %+v, want the second replay a duplicate", s)
	}
}

// TestACallThatGoesToARetryTopicDoesNotWaitForItsOwnLease has results that cannot be
// written at first, and a lease that outlasts the test.
func TestACallThatGoesToARetryTopicDoesNotWaitForItsOwnLease(t *testing.T) {
	w := newWorld(t, 1)
	p := newProvider(t)
	w.produce(orders(10, 3)...)
	cfg, _ := w.tiered(20*time.Millisecond, 20*time.Millisecond)
	call := payment(p)
	call.Timeout = 2 * patience / 3
	write := call.Result
	call.Result = func(ctx context.Context, tx pgx.Tx, e runtime.Event[order], s slip) error {
		if p.asked(e.ID) == 1 {
			return errNoCustomer
		}
		return write(ctx, tx, e, s)
	}
	w.start(cfg, w.pays(call))
	w.eventually("all are booked", func() bool { return w.count(`SELECT count(*) FROM ledger`) == 10 })
	w.exactly(10)
	p.movedOnce(10)
	w.noIntents()
}
