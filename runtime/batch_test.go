package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
)

// shelf is a dead letter that keeps records in memory and can be made to fail.
type shelf struct {
	mu      sync.Mutex
	records []runtime.FailedRecord
	fail    func(attempt int) error
	calls   int
}

func (s *shelf) Put(_ context.Context, r runtime.FailedRecord) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fail != nil {
		if err := s.fail(s.calls); err != nil {
			return err
		}
	}
	s.records = append(s.records, r)
	return nil
}

func (s *shelf) taken() []runtime.FailedRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.records)
}

func TestARedeliveredEventIsSkipped(t *testing.T) {
	w := newWorld(t, 1)
	w.exec(fmt.Sprintf(`ALTER DATABASE %s SET lc_messages = 'C'`, pgx.Identifier{w.db.Name}.Sanitize()))
	events := orders(300, 5)
	w.produce(events...)
	r := w.start(w.config(), w.ledger)
	w.caughtUp()
	w.produce(events...)
	w.caughtUp()
	w.exactly(300)
	if s := r.Stats(); s.Duplicates != 300 || s.Retries != 0 {
		t.Errorf("stats are %+v, want 300 duplicates and no retry", s)
	}
}

func TestABatchOfRepeatsTakesNoTransactionID(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(300, 5)
	w.produce(events...)
	cfg := w.config()
	cfg.BatchSize = 10
	r := w.start(cfg, w.ledger)
	w.caughtUp()
	const nextXID = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint`
	before, batches := w.count(nextXID), r.Stats().Batches
	for range 5 {
		w.produce(events...)
	}
	w.caughtUp()
	taken, batches := w.count(nextXID)-before, r.Stats().Batches-batches
	t.Logf("%d batches of repeats; %d transaction ids were taken meanwhile", batches, taken)
	if got := r.Stats().Duplicates; got != 1500 || batches < 150 {
		t.Errorf("%d duplicates in %d batches, want 1500 in 150 or more", got, batches)
	}
	if taken > 20 { // what the maintainer's first pass may take
		t.Errorf("%d transaction ids were taken by %d batches of repeats", taken, batches)
	}
}

func TestOfRepeatsInABatchTheFirstOffsetWins(t *testing.T) {
	w := newWorld(t, 1)
	first := orders(1, 1)[0]
	second := first
	second.Amount = 2
	w.produce(first, second, first)
	w.start(w.config(), w.ledger)
	w.caughtUp()
	w.exactly(1)
	if got := w.count(`SELECT amount FROM ledger`); got != 1 {
		t.Errorf("the effect is that of amount %d, want the first record's", got)
	}
}

// TestABatchRunsInTheOrderOfItsOffsetsWhateverItsIDsAre has ids that descend, and repeats of
// one another at some distance: ids are sorted to be marked, and must not be to be handled.
func TestABatchRunsInTheOrderOfItsOffsetsWhateverItsIDsAre(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(100, 1)
	slices.Reverse(events)
	var sent []order
	for i := range events {
		events[i].Seq = i
		sent = append(sent, events[i])
		if i%3 == 2 {
			repeat := events[i-2]
			repeat.Seq = 1000 + i
			sent = append(sent, repeat, repeat)
		}
	}
	w.produce(sent...)
	cfg := w.config()
	cfg.Linger = time.Second // one batch
	r := w.start(cfg, w.queued)
	w.caughtUp()
	w.exactly(100)
	w.orderedPerKey()
	if repeats := w.count(`SELECT count(*) FROM ledger WHERE seq >= 1000`); repeats != 0 {
		t.Errorf("%d repeats were handled in the place of the first", repeats)
	}
	if got := r.Stats(); got.Duplicates != 66 {
		t.Errorf("%d duplicates are counted, want 66", got.Duplicates)
	}
}

func TestTheGroupIsPartOfTheMark(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(50, 5)...)
	w.start(w.config(), w.ledger)
	w.caughtUp()
	w.group = w.kafka.Group()
	w.start(w.config(), w.ledger)
	w.caughtUp()
	if got := w.count(`SELECT count(*) FROM ledger`); got != 100 {
		t.Errorf("two groups had %d effects of 50 events, want 100", got)
	}
}

// TestABadRecordFailsAlone plants one bad record among 499 good ones, in every
// way a record can be bad.
func TestABadRecordFailsAlone(t *testing.T) {
	boom := errors.New("no such customer")
	ways := map[string]struct {
		handler func(*world) func(*runtime.Consumer)
		cause   func(error) bool
	}{
		"constraint": {
			func(w *world) func(*runtime.Consumer) { return w.ledger },
			func(err error) bool { return strings.Contains(err.Error(), "23514") },
		},
		"constraint in the pipeline": {
			func(w *world) func(*runtime.Consumer) { return w.queued },
			func(err error) bool { return strings.Contains(err.Error(), "23514") },
		},
		"constraint in a batch handler": {
			func(w *world) func(*runtime.Consumer) { return w.batched },
			func(err error) bool { return strings.Contains(err.Error(), "23514") },
		},
		"deferred constraint": {
			func(w *world) func(*runtime.Consumer) {
				w.refuseAtCommit()
				return w.queued
			},
			func(err error) bool { return strings.Contains(err.Error(), "deferred") },
		},
		"handler's own error": {
			handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
				if e.Payload.Amount < 0 {
					return boom
				}
				return queueOrder(ctx, tx, e)
			}),
			func(err error) bool { return errors.Is(err, boom) },
		},
		"panic": {
			handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
				if e.Payload.Amount < 0 {
					panic(boom)
				}
				return insertOrder(ctx, tx, e)
			}),
			func(err error) bool { var p *runtime.PanicError; return errors.As(err, &p) && p.Value == boom },
		},
		"swallowed SQL error": {
			handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
				_ = insertOrder(ctx, tx, e)
				return nil
			}),
			func(err error) bool {
				var s *runtime.SwallowedError
				return errors.As(err, &s) && s.SQL == insertSQL && strings.Contains(err.Error(), "23514")
			},
		},
		"swallowed error of a query": {
			handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
				var n int
				_ = tx.QueryRow(ctx, insertSQL+` RETURNING 1`, e.ID, e.Payload.Key, e.Payload.Seq, e.Payload.Amount).Scan(&n)
				return nil
			}),
			func(err error) bool { var s *runtime.SwallowedError; return errors.As(err, &s) && s.SQL != "" },
		},
		"error hidden behind another": {
			handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
				if insertOrder(ctx, tx, e) != nil {
					return boom
				}
				return nil
			}),
			func(err error) bool { return errors.Is(err, boom) && strings.Contains(err.Error(), "23514") },
		},
		"undecodable": {
			func(w *world) func(*runtime.Consumer) { return w.ledger },
			func(err error) bool { return strings.Contains(err.Error(), "decoding") },
		},
	}
	for name, way := range ways {
		for _, deadLetter := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/dead letter %t", name, deadLetter), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 1)
				const bad = 250
				events := orders(500, 20)
				events[bad].Amount = -1
				recs := make([]*kgo.Record, len(events))
				for i, e := range events {
					recs[i] = record(w.topic, 1, e)
				}
				if name == "undecodable" {
					recs[bad].Value = []byte(`{"eventId": "no UUID"}`)
				}
				register := way.handler(w)
				w.produceRecords(recs...)
				kept := &shelf{}
				cfg := w.config()
				if deadLetter {
					cfg.DeadLetter = kept
				}
				r := w.start(cfg, register)
				if deadLetter {
					w.caughtUp()
					w.exactly(499)
					taken := kept.taken()
					if len(taken) != 1 || taken[0].Record.Offset != bad || taken[0].Group != w.group || !way.cause(taken[0].Err) {
						t.Fatalf("dead letters are %v, want offset %d alone", taken, bad)
					}
					if n := w.count(`SELECT count(*) FROM processed_event WHERE event_id = $1`, events[bad].EventID); n != 0 {
						t.Error("the failed event is marked as processed: a replay would be skipped")
					}
					return
				}
				w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) > 0 })
				w.eventually("what came before is committed", func() bool { return w.committed()[0] == bad })
				if err := r.stop(); err != nil {
					t.Error(err)
				}
				a := w.alarmsOf(runtime.AlarmPartitionStopped)[0]
				if a.Offset != bad || a.Partition != 0 || a.Topic != w.topic || !way.cause(a.Err) {
					t.Errorf("alarm is %+v, want offset %d", a, bad)
				}
				if name != "undecodable" && a.EventID != events[bad].EventID {
					t.Errorf("alarm names event %s, want %s", a.EventID, events[bad].EventID)
				}
				w.exactly(bad)
				if n := w.count(`SELECT count(*) FROM processed_event`); n != bad {
					t.Errorf("%d events are marked, want %d", n, bad)
				}
				if at := w.committed()[0]; at != bad {
					t.Errorf("committed offset is %d, want %d", at, bad)
				}
			})
		}
	}
}

// refuseAtCommit makes the ledger refuse negative amounts only when they are committed.
func (w *world) refuseAtCommit() {
	w.Helper()
	w.exec(`ALTER TABLE ledger DROP CONSTRAINT positive`)
	w.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
		$$BEGIN IF NEW.amount < 0 THEN RAISE EXCEPTION 'negative' USING ERRCODE = '23514'; END IF; RETURN NULL; END$$`)
	w.exec(`CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ledger DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION refuse()`)
}

func handling(fn func(context.Context, pgx.Tx, runtime.Event[order]) error) func(*world) func(*runtime.Consumer) {
	return func(w *world) func(*runtime.Consumer) {
		return func(c *runtime.Consumer) { runtime.Handle(c, w.topic, fn) }
	}
}

func TestAStoppedPartitionGoesOnAfterARepairAndARestart(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(100, 5)
	events[50].Amount = -1
	w.produce(events...)
	r := w.start(w.config(), w.queued)
	w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) > 0 })
	_ = r.stop()
	w.exec(`ALTER TABLE ledger DROP CONSTRAINT positive`)
	w.start(w.config(), w.queued)
	w.caughtUp()
	w.exactly(100)
	w.orderedPerKey()
}

func TestAFailedLastRecordIsDeadLetteredOnce(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(10, 1)
	events[9].Amount = -1
	w.produce(events...)
	kept := &shelf{}
	cfg := w.config()
	cfg.DeadLetter = kept
	for range 3 {
		r := w.start(cfg, w.queued)
		w.caughtUp()
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(kept.taken()); n != 1 {
		t.Errorf("%d dead letters after two restarts, want 1", n)
	}
}

func TestAPartitionWaitsForItsDeadLetter(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(20, 1)
	events[10].Amount = -1
	w.produce(events...)
	var mend sync.Once
	mended := make(chan struct{})
	kept := &shelf{fail: func(int) error {
		select {
		case <-mended:
			return nil
		default:
			return errors.New("dead letter topic is down")
		}
	}}
	cfg := w.config()
	cfg.DeadLetter = kept
	w.start(cfg, w.queued)
	w.eventually("an alarm about the dead letter", func() bool { return len(w.alarmsOf(runtime.AlarmDeadLetter)) > 0 })
	if at := w.committed()[0]; at > 10 {
		t.Errorf("offset %d is committed although record 10 is nowhere", at)
	}
	mend.Do(func() { close(mended) })
	w.caughtUp()
	w.exactly(19)
	if n := len(kept.taken()); n != 1 {
		t.Errorf("%d dead letters, want 1", n)
	}
}

func TestEveryAttemptGetsAFreshPayload(t *testing.T) {
	type payload struct {
		EventID uuid.UUID `json:"eventId"`
		Lines   []int     `json:"lines"`
	}
	w := newWorld(t, 1)
	value, err := json.Marshal(payload{EventID: uuid.Must(uuid.NewV7()), Lines: []int{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	w.produceRecords(&kgo.Record{Topic: w.topic, Value: value})
	attempts := 0
	w.start(w.config(), func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[payload]) error {
			attempts++
			if e.Payload.Lines[0] != 1 {
				return errors.New("payload was changed by an earlier attempt")
			}
			e.Payload.Lines[0] = 99
			if attempts == 1 {
				_, err := tx.Exec(ctx, `DO $$BEGIN RAISE EXCEPTION 'planned' USING ERRCODE = '40001'; END$$`)
				return err
			}
			return nil
		})
	})
	w.caughtUp()
	if attempts != 2 || len(w.alarmsOf(runtime.AlarmPartitionStopped)) != 0 {
		t.Errorf("%d attempts, alarms %v", attempts, w.alarms)
	}
}

func TestAQueuedStatementRunsAtOnceOutsideTheRuntime(t *testing.T) {
	w := newWorld(t, 1)
	o := orders(1, 1)[0]
	err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		return queueOrder(t.Context(), tx, runtime.Event[order]{ID: o.EventID, Payload: o})
	})
	if err != nil {
		t.Fatal(err)
	}
	w.exactly(1)
}

func TestAnEventOutsideTheWindowIsQuarantinedAndNotProcessed(t *testing.T) {
	at := func(d time.Duration) uuid.UUID {
		id := uuid.Must(uuid.NewV7())
		ms := time.Now().Add(d).UnixMilli()
		for i := 5; i >= 0; i-- {
			id[i] = byte(ms)
			ms >>= 8
		}
		return id
	}
	cases := map[runtime.Reason]uuid.UUID{
		runtime.ReasonTooOld:      at(-30 * 24 * time.Hour),
		runtime.ReasonTooFarAhead: at(30 * 24 * time.Hour),
		runtime.ReasonNotV7:       uuid.New(),
	}
	for reason, id := range cases {
		t.Run(string(reason), func(t *testing.T) {
			w := newWorld(t, 1)
			events := orders(9, 1)
			events[4].EventID = id
			w.produce(events...)
			r := w.start(w.config(), w.queued)
			w.caughtUp()
			w.exactly(8)
			n := w.count(`SELECT count(*) FROM quarantined_event WHERE event_id = $1 AND reason = $2 AND record_offset = 4`, id, string(reason))
			if n != 1 || r.Stats().Quarantined != 1 {
				t.Errorf("%d rows in the quarantine, stats %+v", n, r.Stats())
			}
		})
	}
}

func TestAPartitionOfTheTableThatIsMissingIsMadeAndTheBatchRetried(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(5, 1)...)
	r := w.start(w.config(), w.queued)
	w.caughtUp()
	_ = r.stop()
	var today string
	if err := w.pool.QueryRow(t.Context(), `SELECT tableoid::regclass::text FROM processed_event LIMIT 1`).Scan(&today); err != nil {
		t.Fatal(err)
	}
	cfg := w.config()
	cfg.MaintenanceInterval = time.Hour
	r = w.start(cfg, w.queued)
	w.produce(orders(5, 1)...)
	w.caughtUp()
	// The consumer's first pass of upkeep may still be under way and make the partition again before a batch can miss
	// it. There is no second pass within the hour.
	produced := 10
	for range 3 {
		w.exec(`DROP TABLE ` + today)
		w.produce(orders(5, 1)...)
		w.caughtUp()
		if produced += 5; r.Stats().Retries > 0 {
			break
		}
	}
	w.exactly(produced)
	if r.Stats().Retries == 0 {
		t.Error("no batch missed the partition")
	}
}
