package runtime_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
)

// TestAFailureOfTheDatabaseIsRetried raises each SQLSTATE twice and then lets the
// batch pass.
func TestAFailureOfTheDatabaseIsRetried(t *testing.T) {
	for _, code := range []string{
		"40001", "40P01", "55P03", "57014", "57P01", "08006", "53300", "58030", "25006", "XX000", "42P01", "42501", "28000",
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
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
	cfg := w.config()
	cfg.LockTimeout = patience // a batch waits for the other's marks as long as that one takes
	r := w.start(cfg, w.queued)
	w.caughtUp()
	w.exactly(6000)
	if s := r.Stats(); s.Retries != 0 || s.Duplicates != 6000 {
		t.Errorf("stats are %+v, want 6000 duplicates and no retry", s)
	}
}

// spy counts transactions, and savepoints in all of them.
type spy struct {
	begun, savepoints atomic.Int64
}

func (s *spy) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	switch sql := strings.ToLower(data.SQL); {
	case strings.HasPrefix(sql, "begin") && strings.Contains(sql, "idemlint_guard"): // no upkeep
		s.begun.Add(1)
	case strings.HasPrefix(sql, "savepoint"):
		s.savepoints.Add(1)
	}
	return ctx
}

func (s *spy) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestAGuiltyRecordIsFoundInAFewTransactions counts them for a batch of 500 events,
// none, one or all of which are bad, and whose guilt shows at once or at the commit.
func TestAGuiltyRecordIsFoundInAFewTransactions(t *testing.T) {
	none, one, all := []int{}, []int{499}, make([]int, 500)
	for i := range all {
		all[i] = i
	}
	for name, tc := range map[string]struct {
		bad  []int
		late bool
		most int64
	}{
		"none": {none, false, 1}, "one": {one, false, 5}, "one at the commit": {one, true, 20}, "all": {all, false, 520},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			if tc.late {
				w.refuseAtCommit()
			}
			events := orders(500, 5)
			for _, i := range tc.bad {
				events[i].Amount = -1
			}
			w.produce(events...)
			watch := &spy{}
			w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.MaxConns, c.ConnConfig.Tracer = 1, watch })
			cfg := w.config()
			cfg.DeadLetter = &shelf{}
			cfg.Linger = time.Second // one batch
			r := w.start(cfg, w.queued)
			w.caughtUp()
			_ = r.stop()
			w.exactly(500 - len(tc.bad))
			t.Logf("%d transactions, %d savepoints", watch.begun.Load(), watch.savepoints.Load())
			if got := watch.begun.Load(); got > tc.most || watch.savepoints.Load() != 0 {
				t.Errorf("%d transactions and %d savepoints, want at most %d and none", got, watch.savepoints.Load(), tc.most)
			}
		})
	}
}

func TestTheBatchTransactionHasItsSettings(t *testing.T) {
	w := newWorld(t, 1)
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
		"transaction_isolation": "read committed",
	} {
		if got[name] != want {
			t.Errorf("%s is %q in a handler, want %q", name, got[name], want)
		}
	}
}

// TestACommitIsSynchronous looks at the setting from a deferred trigger, that is at
// the commit.
func TestACommitIsSynchronous(t *testing.T) {
	for name, tc := range map[string]struct{ database, handler, want string }{
		"off in the database":    {"off", "", "on"},
		"off by the handler":     {"on", "SET LOCAL synchronous_commit = off", "on"},
		"stronger in the server": {"remote_apply", "", "remote_apply"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.exec(fmt.Sprintf(`ALTER DATABASE %s SET synchronous_commit = %s`, pgx.Identifier{w.db.Name}.Sanitize(), tc.database))
			w.exec(`CREATE TABLE seen (setting text)`)
			w.exec(`CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
				$$BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NULL; END$$`)
			w.exec(`CREATE CONSTRAINT TRIGGER late AFTER INSERT ON ledger DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see()`)
			w.pool.Reset()
			w.produce(orders(1, 1)...)
			w.start(w.config(), func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					if tc.handler != "" {
						if _, err := tx.Exec(ctx, tc.handler); err != nil {
							return err
						}
					}
					return insertOrder(ctx, tx, e)
				})
			})
			w.caughtUp()
			if n := w.count(`SELECT count(*) FROM seen WHERE setting = $1`, tc.want); n != 1 {
				t.Errorf("synchronous_commit is not %q at the commit", tc.want)
			}
		})
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
	cfg.IdleTimeout = 200 * time.Millisecond
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
	if r.Stats().Retries == 0 { // more of them on a machine that itself is idle for as long
		t.Error("the batch was not tried again")
	}
}
