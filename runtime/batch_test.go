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
	"github.com/jackc/pgx/v5/pgxpool"
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
				w.exec(`ALTER TABLE ledger DROP CONSTRAINT positive`)
				w.exec(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
					$$BEGIN IF NEW.amount < 0 THEN RAISE EXCEPTION 'negative' USING ERRCODE = '23514'; END IF; RETURN NULL; END$$`)
				w.exec(`CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ledger DEFERRABLE INITIALLY DEFERRED
					FOR EACH ROW EXECUTE FUNCTION refuse()`)
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
		"commit by the handler": {
			handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
				if e.Payload.Amount < 0 {
					return tx.Commit(ctx)
				}
				return insertOrder(ctx, tx, e)
			}),
			func(err error) bool { return errors.Is(err, runtime.ErrTransactionControl) },
		},
		"rollback in SQL by the handler": {
			handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
				if e.Payload.Amount < 0 {
					_, err := tx.Exec(ctx, "SELECT 1; rollback")
					return err
				}
				return insertOrder(ctx, tx, e)
			}),
			func(err error) bool { return errors.Is(err, runtime.ErrTransactionControl) },
		},
		"undecodable": {
			func(w *world) func(*runtime.Consumer) { return w.ledger },
			func(err error) bool { return strings.Contains(err.Error(), "decoding") },
		},
	}
	for name, way := range ways {
		for _, deadLetter := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/dead letter %t", name, deadLetter), func(t *testing.T) {
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

// TestAFailureOfTheDatabaseIsRetried raises each SQLSTATE twice and then lets the
// batch pass.
func TestAFailureOfTheDatabaseIsRetried(t *testing.T) {
	for _, code := range []string{
		"40001", "40P01", "55P03", "57014", "57P01", "08006", "53300", "58030", "25006", "XX000", "42P01", "42501", "28000",
	} {
		t.Run(code, func(t *testing.T) {
			w := newWorld(t, 1)
			w.exec(`CREATE SEQUENCE tries`)
			w.exec(`CREATE FUNCTION fail(code text) RETURNS void LANGUAGE plpgsql AS
				$$BEGIN IF nextval('tries') <= 2 THEN RAISE EXCEPTION 'planned' USING ERRCODE = code; END IF; END$$`)
			w.produce(orders(20, 2)...)
			kept := &shelf{}
			cfg := w.config()
			cfg.DeadLetter = kept
			r := w.start(cfg, func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					if e.Payload.Seq == 5 && e.Payload.Key == "key-1" {
						if _, err := tx.Exec(ctx, `SELECT fail($1)`, code); err != nil {
							return err
						}
					}
					return insertOrder(ctx, tx, e)
				})
			})
			w.caughtUp()
			w.exactly(20)
			w.orderedPerKey()
			if s := r.Stats(); s.Retries != 2 || s.Isolations != 0 || len(kept.taken()) != 0 {
				t.Errorf("stats are %+v with %d dead letters, want two retries of the whole batch", s, len(kept.taken()))
			}
		})
	}
}

func TestAMissingTableOfTheHandlerRaisesAnAlarmAndLosesNothing(t *testing.T) {
	w := newWorld(t, 1)
	w.exec(`ALTER TABLE ledger RENAME TO hidden`)
	w.produce(orders(20, 2)...)
	kept := &shelf{}
	cfg := w.config()
	cfg.DeadLetter = kept
	w.start(cfg, w.queued)
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmRetrying)) > 0 })
	w.exec(`ALTER TABLE hidden RENAME TO ledger`)
	w.caughtUp()
	w.exactly(20)
	if n := len(kept.taken()); n != 0 {
		t.Errorf("%d records were dead-lettered for a missing table", n)
	}
}

func TestAnotherOwnersOpenTransactionIsWaitedForAndNeverTakenForADuplicate(t *testing.T) {
	for _, commit := range []bool{false, true} {
		t.Run(fmt.Sprintf("it commits %t", commit), func(t *testing.T) {
			w := newWorld(t, 1)
			events := orders(10, 1)
			w.prepareTable()
			owner, err := w.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer owner.Rollback(context.Background())
			if _, err := owner.Exec(t.Context(), `INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, $2)`, events[4].EventID, w.group); err != nil {
				t.Fatal(err)
			}
			w.produce(events...)
			cfg := w.config()
			cfg.LockTimeout = 50 * time.Millisecond
			r := w.start(cfg, w.queued)
			w.eventually("two lock timeouts", func() bool { return r.Stats().Retries >= 2 })
			if at := w.committed(); len(at) != 0 {
				t.Errorf("offsets %v are committed while the owner is in flight", at)
			}
			want := 10
			if commit {
				want, err = 9, owner.Commit(t.Context())
			} else {
				err = owner.Rollback(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			w.caughtUp()
			w.exactly(want)
		})
	}
}

func TestOppositeLockOrdersOfHandlersAreRetriedAndLoseNothing(t *testing.T) {
	w := newWorld(t, 2)
	w.exec(`CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)`)
	w.exec(`INSERT INTO account VALUES (0, 0), (1, 0)`)
	events := make([]order, 200)
	for i := range events {
		events[i] = order{EventID: uuid.Must(uuid.NewV7()), Key: fmt.Sprint(i), Seq: i, Amount: i % 2}
	}
	w.produce(events...)
	cfg := w.config()
	cfg.BatchSize = 10
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			for _, account := range []int{e.Payload.Amount, 1 - e.Payload.Amount} {
				if _, err := tx.Exec(ctx, `UPDATE account SET balance = balance + 1 WHERE id = $1`, account); err != nil {
					return err
				}
			}
			return nil
		})
	})
	w.caughtUp()
	if got := w.count(`SELECT sum(balance) FROM account`); got != 400 {
		t.Errorf("balances add up to %d, want 400", got)
	}
	t.Logf("%d deadlocked batches were retried", r.Stats().Retries)
}

func TestTheSameEventsInOppositeOrdersDoNotDeadlock(t *testing.T) {
	w := newWorld(t, 2)
	events := orders(6000, 1)
	recs := make([]*kgo.Record, 0, 2*len(events))
	for block := range slices.Chunk(events, 500) { // a batch's worth
		for i := range block {
			forward, backward := record(w.topic, 1, block[i]), record(w.topic, 1, block[len(block)-1-i])
			backward.Partition = 1
			recs = append(recs, forward, backward)
		}
	}
	w.produceRecords(recs...)
	r := w.start(w.config(), w.queued)
	w.caughtUp()
	w.exactly(6000)
	if s := r.Stats(); s.Retries != 0 || s.Duplicates != 6000 {
		t.Errorf("stats are %+v, want 6000 duplicates and no retry", s)
	}
}

// spy counts statements by their first word, per transaction.
type spy struct {
	mu         sync.Mutex
	savepoints int // of the transaction that runs now, on the only connection
	most       int
	begun      int
}

func (s *spy) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch sql := strings.ToLower(data.SQL); {
	case strings.HasPrefix(sql, "begin"):
		s.savepoints = 0
		s.begun++
	case strings.HasPrefix(sql, "savepoint"):
		s.savepoints++
		s.most = max(s.most, s.savepoints)
	}
	return ctx
}

func (s *spy) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func TestSavepointsAreSetOnlyAfterADataErrorAndAtMostFiftyInATransaction(t *testing.T) {
	for _, bad := range []bool{false, true} {
		t.Run(fmt.Sprintf("bad record %t", bad), func(t *testing.T) {
			w := newWorld(t, 1)
			events := orders(500, 5)
			if bad {
				events[499].Amount = -1
			}
			w.produce(events...)
			watch := &spy{}
			w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.MaxConns, c.ConnConfig.Tracer = 1, watch })
			cfg := w.config()
			cfg.DeadLetter = &shelf{}
			r := w.start(cfg, w.queued)
			w.caughtUp()
			_ = r.stop()
			watch.mu.Lock()
			defer watch.mu.Unlock()
			t.Logf("%d transactions, at most %d savepoints in one", watch.begun, watch.most)
			if want := map[bool]int{true: 50}[bad]; watch.most != want {
				t.Errorf("up to %d savepoints in a transaction, want %d", watch.most, want)
			}
		})
	}
}

func TestATransactionThatAHandlerEndsOnTheBareConnectionStopsThePartition(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(10, 1)...)
	w.start(w.config(), func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			if e.Payload.Seq == 5 {
				_, err := tx.Conn().Exec(ctx, "commit")
				return err
			}
			return insertOrder(ctx, tx, e)
		})
	})
	w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) > 0 })
	if a := w.alarmsOf(runtime.AlarmPartitionStopped)[0]; !errors.Is(a.Err, runtime.ErrTransactionControl) {
		t.Errorf("alarm says %v", a.Err)
	}
	if at := w.committed(); len(at) != 0 {
		t.Errorf("offsets %v are committed", at)
	}
}

func TestTheBatchTransactionHasItsSettings(t *testing.T) {
	w := newWorld(t, 1)
	w.exec(fmt.Sprintf(`ALTER DATABASE %s SET synchronous_commit = off`, pgx.Identifier{w.db.Name}.Sanitize()))
	w.exec(fmt.Sprintf(`ALTER DATABASE %s SET default_transaction_isolation = 'serializable'`, pgx.Identifier{w.db.Name}.Sanitize()))
	w.pool.Reset()
	w.produce(orders(1, 1)...)
	cfg := w.config()
	cfg.LockTimeout, cfg.StatementTimeout, cfg.IdleTimeout = 1234*time.Millisecond, 2345*time.Millisecond, 3456*time.Millisecond
	got := map[string]string{}
	w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			rows, err := tx.Query(ctx, `SELECT name, setting FROM pg_settings`)
			if err != nil {
				return err
			}
			var name, setting string
			_, err = pgx.ForEachRow(rows, []any{&name, &setting}, func() error { got[name] = setting; return nil })
			return err
		})
	})
	w.caughtUp()
	for name, want := range map[string]string{
		"lock_timeout": "1234", "statement_timeout": "2345", "idle_in_transaction_session_timeout": "3456",
		"synchronous_commit": "on", "transaction_isolation": "read committed",
	} {
		if got[name] != want {
			t.Errorf("%s is %q in a handler, want %q", name, got[name], want)
		}
	}
}

func TestABatchThatTakesTooLongIsTriedAgainWithFewerEvents(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(16, 1)...)
	cfg := w.config()
	cfg.BatchTimeout = 400 * time.Millisecond
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			if _, err := tx.Exec(ctx, `SELECT pg_sleep(0.06)`); err != nil {
				return err
			}
			return insertOrder(ctx, tx, e)
		})
	})
	w.caughtUp()
	w.exactly(16)
	if r.Stats().Retries == 0 {
		t.Error("the batch did not time out")
	}
}

func TestAHandlerThatThinksTooLongLosesItsLocksAndIsRetried(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(3, 1)...)
	cfg := w.config()
	cfg.IdleTimeout = 50 * time.Millisecond
	var once sync.Once
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			once.Do(func() {
				w.eventually("PostgreSQL ends the session", func() bool {
					return w.count(`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`) == 0
				})
			})
			return insertOrder(ctx, tx, e)
		})
	})
	w.caughtUp()
	w.exactly(3)
	if r.Stats().Retries != 1 {
		t.Errorf("%d retries, want 1", r.Stats().Retries)
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
	w.exec(`DROP TABLE ` + today)
	w.produce(orders(5, 1)...)
	w.caughtUp()
	w.exactly(15)
	if r.Stats().Retries == 0 {
		t.Error("the batch did not miss the partition")
	}
}
