package runtime_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/idemlint/idemlint/runtime"
)

// statement runs SQL through the handler's transaction.
func statement(sql string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql)
		return err
	}
}

// bare runs SQL past the runtime, a round trip each.
func bare(statements ...string) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		for _, sql := range statements {
			if _, err := tx.Conn().Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	}
}

// ignoring drops a misuse's error, as a careless handler does.
func ignoring(misuse func(context.Context, pgx.Tx) error) func(context.Context, pgx.Tx) error {
	return func(ctx context.Context, tx pgx.Tx) error {
		_ = misuse(ctx, tx)
		return nil
	}
}

// endings are ways to end the transaction of a batch from within its handler.
var endings = map[string]func(context.Context, pgx.Tx) error{
	"Commit":                           func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) },
	"Rollback":                         func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) },
	"Commit, error ignored":            ignoring(func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) }),
	"Rollback, error ignored":          ignoring(func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) }),
	"SQL, error ignored":               ignoring(statement("COMMIT")),
	"SQL":                              statement("SELECT 1; rollback"),
	"SQL behind a nested comment":      statement("/* a /* b */ c */ COMMIT"),
	"SQL behind a carriage return":     statement("-- x\rCOMMIT"),
	"bare commit":                      bare("COMMIT"),
	"bare commit, error ignored":       ignoring(bare("COMMIT")),
	"bare rollback":                    bare("ROLLBACK"),
	"bare rollback and begin":          bare("ROLLBACK", "BEGIN"),
	"bare commit and begin":            bare("SELECT 1; COMMIT; BEGIN"),
	"bare commit and chain":            bare("COMMIT AND CHAIN"),
	"bare commit ignored, then begin":  func(ctx context.Context, tx pgx.Tx) error { _ = bare("COMMIT")(ctx, tx); return bare("BEGIN")(ctx, tx) },
	"a transaction of the connection":  func(ctx context.Context, tx pgx.Tx) error { return pgx.BeginFunc(ctx, tx.Conn(), noWork) },
	"the same, rolled back":            func(ctx context.Context, tx pgx.Tx) error { return rolledBack(ctx, tx.Conn()) },
	"the same, rolled back and silent": ignoring(func(ctx context.Context, tx pgx.Tx) error { return rolledBack(ctx, tx.Conn()) }),
}

func noWork(pgx.Tx) error { return nil }

func rolledBack(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(pgx.Tx) error { return errors.New("no such customer") })
}

// TestAHandlerThatEndsTheTransactionKeepsNothingAndLosesNothing lets one event of
// twenty end the transaction until the alarm has been raised; then it behaves.
func TestAHandlerThatEndsTheTransactionKeepsNothingAndLosesNothing(t *testing.T) {
	for name, end := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			events := orders(20, 1)
			w.produce(events...)
			kept := &shelf{}
			cfg := w.config()
			cfg.DeadLetter = kept
			var mended atomic.Bool
			w.start(cfg, func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					if e.Payload.Seq == 5 && !mended.Load() {
						if err := end(ctx, tx); err != nil {
							return err
						}
					}
					return insertOrder(ctx, tx, e)
				})
			})
			w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmRetrying)) > 0 })
			a := w.alarmsOf(runtime.AlarmRetrying)[0]
			if !errors.Is(a.Err, runtime.ErrTransactionControl) || a.EventID != events[5].EventID || a.Offset != 5 {
				t.Errorf("alarm is about event %s at offset %d: %v, want event %s at 5", a.EventID, a.Offset, a.Err, events[5].EventID)
			}
			if n := w.count(`SELECT (SELECT count(*) FROM processed_event) + (SELECT count(*) FROM ledger)`); n != 0 {
				t.Errorf("%d marks and effects were kept", n)
			}
			if at := w.committed(); len(at) != 0 {
				t.Errorf("offsets %v are committed", at)
			}
			mended.Store(true)
			w.caughtUp()
			w.exactly(20)
			if n := w.count(`SELECT count(*) FROM processed_event JOIN ledger USING (event_id)`); n != 20 {
				t.Errorf("%d effects have their mark, want 20", n)
			}
			if n := len(kept.taken()); n != 0 {
				t.Errorf("%d records were dead-lettered for a mistake of the handler", n)
			}
		})
	}
}

func TestSQLThatOnlyReadsLikeTransactionControlIsRun(t *testing.T) {
	for name, sql := range map[string]string{
		"literal":       `INSERT INTO ledger (event_id, key, seq, amount) VALUES ($1, 'fees; end of month', $2, 1)`,
		"name":          `INSERT INTO ledger AS "x; commit" (event_id, key, seq, amount) VALUES ($1, '', $2, 1)`,
		"comment":       "/* ; commit */ INSERT INTO ledger (event_id, key, seq, amount) VALUES ($1, '', $2, 1) -- ; end",
		"dollar quotes": `INSERT INTO ledger (event_id, key, seq, amount) VALUES ($1, $x$; rollback $$; end $x$, $2, 1)`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.produce(orders(10, 1)...)
			w.start(w.config(), func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					if _, err := tx.Exec(ctx, `DO $$ BEGIN PERFORM 1; END $$`); err != nil {
						return err
					}
					_, err := tx.Exec(ctx, sql, e.ID, e.Payload.Seq)
					return err
				})
			})
			w.caughtUp()
			w.exactly(10)
		})
	}
}

// TestTheErrorThatFollowsAnIgnoredOneIsItsRecordsFailure has one event ignore a
// failed statement that the runtime may not have seen, and return what its next
// statement fails with: 25P02, whatever the first one was.
func TestTheErrorThatFollowsAnIgnoredOneIsItsRecordsFailure(t *testing.T) {
	const violating = `INSERT INTO ledger (event_id, key, seq, amount) VALUES (gen_random_uuid(), '', 0, -1)`
	next := statement("SELECT 1")
	for name, misuse := range map[string]func(context.Context, pgx.Tx) error{
		"pipeline": func(ctx context.Context, tx pgx.Tx) error {
			batch := &pgx.Batch{}
			batch.Queue(violating)
			_ = tx.SendBatch(ctx, batch).Close()
			return next(ctx, tx)
		},
		"bare connection": func(ctx context.Context, tx pgx.Tx) error {
			_, _ = tx.Conn().Exec(ctx, violating)
			return next(ctx, tx)
		},
		"large object": func(ctx context.Context, tx pgx.Tx) error {
			objects := tx.LargeObjects()
			_, _ = objects.Open(ctx, 4711, pgx.LargeObjectModeRead)
			return next(ctx, tx)
		},
		"savepoint": func(ctx context.Context, tx pgx.Tx) error {
			_, _ = tx.Conn().Exec(ctx, violating)
			_, err := tx.Begin(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.produce(orders(20, 1)...)
			kept := &shelf{}
			cfg := w.config()
			cfg.DeadLetter = kept
			w.start(cfg, func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					if e.Payload.Seq == 5 {
						if err := misuse(ctx, tx); err != nil {
							return err
						}
					}
					return insertOrder(ctx, tx, e)
				})
			})
			w.caughtUp()
			w.exactly(19)
			if taken := kept.taken(); len(taken) != 1 || taken[0].Record.Offset != 5 {
				t.Errorf("dead letters are %v, want offset 5 alone", taken)
			}
		})
	}
}

// TestAnIgnoredDeadlockInAPipelineIsRetried has the first attempt's pipeline fail
// with a code that is no record's fault; the handler returns what followed it.
func TestAnIgnoredDeadlockInAPipelineIsRetried(t *testing.T) {
	for name, results := range map[string]func(pgx.BatchResults) error{
		"Close": func(r pgx.BatchResults) error { return r.Close() },
		"Exec":  func(r pgx.BatchResults) error { _, err := r.Exec(); return errors.Join(err, r.Close()) },
		"QueryRow": func(r pgx.BatchResults) error {
			var n int
			return errors.Join(r.QueryRow().Scan(&n), r.Close())
		},
		"Query": func(r pgx.BatchResults) error {
			rows, err := r.Query()
			rows.Close()
			return errors.Join(err, rows.Err(), r.Close())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.produce(orders(20, 1)...)
			kept := &shelf{}
			cfg := w.config()
			cfg.DeadLetter = kept
			var once atomic.Bool
			r := w.start(cfg, func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					if e.Payload.Seq == 5 && once.CompareAndSwap(false, true) {
						batch := &pgx.Batch{}
						batch.Queue(`DO $$BEGIN RAISE EXCEPTION 'planned' USING ERRCODE = '40P01'; END$$`)
						if results(tx.SendBatch(ctx, batch)) == nil {
							return errors.New("the pipeline did not fail")
						}
					}
					return insertOrder(ctx, tx, e)
				})
			})
			w.caughtUp()
			w.exactly(20)
			if s := r.Stats(); s.Retries != 1 || s.Isolations != 0 || len(kept.taken()) != 0 {
				t.Errorf("stats are %+v with %d dead letters, want one retry", s, len(kept.taken()))
			}
		})
	}
}

func TestAHandlerThatEndsItsGoroutineFailsItsRecordAlone(t *testing.T) {
	for name, register := range map[string]func(*world, *runtime.Consumer){
		"Handle": func(w *world, c *runtime.Consumer) {
			runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
				if e.Payload.Seq == 5 {
					goruntime.Goexit() // as testing.T.FailNow does
				}
				return queueOrder(ctx, tx, e)
			})
		},
		"HandleBatch": func(w *world, c *runtime.Consumer) {
			runtime.HandleBatch(c, w.topic, func(ctx context.Context, tx pgx.Tx, events []runtime.Event[order]) error {
				for _, e := range events {
					if e.Payload.Seq == 5 {
						goruntime.Goexit()
					}
					if err := insertOrder(ctx, tx, e); err != nil {
						return err
					}
				}
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.produce(orders(20, 1)...)
			kept := &shelf{}
			cfg := w.config()
			cfg.DeadLetter = kept
			r := w.start(cfg, func(c *runtime.Consumer) { register(w, c) })
			w.caughtUp()
			w.exactly(19)
			taken := kept.taken()
			if len(taken) != 1 || taken[0].Record.Offset != 5 {
				t.Fatalf("dead letters are %v, want offset 5 alone", taken)
			}
			if p := new(runtime.PanicError); !errors.As(taken[0].Err, &p) {
				t.Errorf("dead letter says %v, want a PanicError", taken[0].Err)
			}
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			w.noGoroutines()
		})
	}
}

// TestWhatAHandlerSetsDoesNotReachTheMarks has every handler change a setting that
// decides which table a name means, or what may be done to it, in a batch with one
// bad event. Repeats follow.
func TestWhatAHandlerSetsDoesNotReachTheMarks(t *testing.T) {
	for name, setting := range map[string]string{
		"search path of the transaction": `SET LOCAL search_path = tenant, public`,
		"search path of the session":     `SET search_path = tenant, public`,
		"role of the transaction":        `SET LOCAL ROLE tenant_role`,
	} {
		for _, deadLetter := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/dead letter %t", name, deadLetter), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 1)
				w.tenant()
				events := orders(20, 1)
				events[5].Amount = -1
				w.produce(events...)
				kept := &shelf{}
				cfg := w.config()
				if deadLetter {
					cfg.DeadLetter = kept
				}
				register := handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					if _, err := tx.Exec(ctx, strings.ReplaceAll(setting, "tenant_role", pgx.Identifier{"tenant_" + w.db.Name}.Sanitize())); err != nil {
						return err
					}
					return insertOrder(ctx, tx, e)
				})(w)
				r := w.start(cfg, register)
				if deadLetter {
					w.caughtUp()
				} else {
					w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) > 0 })
					_ = r.stop()
					w.exec(`ALTER TABLE ledger DROP CONSTRAINT positive`)
					w.start(cfg, register)
					w.caughtUp()
				}
				want := 20 - len(kept.taken())
				w.exactly(want)
				w.produce(events...)
				w.caughtUp()
				w.exactly(want)
			})
		}
	}
}

// tenant makes a schema with a processed_event of its own, as Migrate makes one in
// the first schema of the search path, and a role that may not touch any.
func (w *world) tenant() {
	w.Helper()
	w.exec(`CREATE SCHEMA tenant`)
	w.exec(`CREATE TABLE tenant.processed_event (event_id uuid, consumer_group text, processed_at timestamptz DEFAULT now(),
		PRIMARY KEY (event_id, consumer_group))`)
	role := pgx.Identifier{"tenant_" + w.db.Name}.Sanitize()
	w.exec(`CREATE ROLE ` + role)
	w.Cleanup(func() {
		w.exec(`DROP OWNED BY ` + role)
		w.exec(`DROP ROLE ` + role)
	})
	w.exec(`GRANT ALL ON ledger TO ` + role)
}

// TestAnInitiallyImmediateConstraintStaysImmediate has a handler that counts on a
// deferrable constraint's failing at once, beside a bad event.
func TestAnInitiallyImmediateConstraintStaysImmediate(t *testing.T) {
	w := newWorld(t, 1)
	w.exec(`CREATE TABLE latest (key text UNIQUE DEFERRABLE INITIALLY IMMEDIATE, seq int)`)
	events := orders(20, 1)
	events[5].Amount = -1
	w.produce(events...)
	kept := &shelf{}
	cfg := w.config()
	cfg.DeadLetter = kept
	w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO latest VALUES ($1, $2)`, e.Payload.Key, e.Payload.Seq)
				return err
			})
			if err != nil {
				if _, err := tx.Exec(ctx, `UPDATE latest SET seq = $2 WHERE key = $1`, e.Payload.Key, e.Payload.Seq); err != nil {
					return err
				}
			}
			return insertOrder(ctx, tx, e)
		})
	})
	w.caughtUp()
	w.exactly(19)
	if n := len(kept.taken()); n != 1 {
		t.Errorf("%d dead letters, want 1", n)
	}
}

// TestAHandlerThatLeavesAResultUnreadFailsOnlyByItsError has one event leave a result
// open, and return an error or none.
func TestAHandlerThatLeavesAResultUnreadFailsOnlyByItsError(t *testing.T) {
	for name, leave := range map[string]func(context.Context, pgx.Tx) error{
		"rows": func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `SELECT generate_series(1, 100)`)
			if err == nil {
				rows.Next()
			}
			return err
		},
		"row": func(ctx context.Context, tx pgx.Tx) error {
			tx.QueryRow(ctx, `SELECT generate_series(1, 100)`)
			return nil
		},
		"pipeline": func(ctx context.Context, tx pgx.Tx) error {
			batch := &pgx.Batch{}
			batch.Queue(`SELECT generate_series(1, 100)`)
			batch.Queue(`SELECT generate_series(1, 100)`)
			rows, err := tx.SendBatch(ctx, batch).Query()
			if err == nil {
				rows.Next()
			}
			return err
		},
	} {
		for outcome, failed := range map[string]int{"success": 0, "error": 1, "panic": 1} {
			t.Run(name+"/"+outcome, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 1)
				w.produce(orders(20, 1)...)
				kept := &shelf{}
				cfg := w.config()
				cfg.DeadLetter = kept
				w.start(cfg, func(c *runtime.Consumer) {
					runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
						if err := insertOrder(ctx, tx, e); err != nil || e.Payload.Seq != 5 {
							return err
						}
						err := leave(ctx, tx)
						switch outcome {
						case "error":
							return errors.New("bad row")
						case "panic":
							panic("bad row")
						}
						return err
					})
				})
				w.caughtUp()
				w.exactly(20 - failed)
				if taken := kept.taken(); len(taken) != failed || failed > 0 && taken[0].Record.Offset != 5 {
					t.Errorf("dead letters are %v, want %d", taken, failed)
				}
			})
		}
	}
}

func TestAStatementBesideAnOpenResultFailsItsRecordAlone(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(20, 1)...)
	kept := &shelf{}
	cfg := w.config()
	cfg.DeadLetter = kept
	w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			if e.Payload.Seq == 5 {
				if _, err := tx.Query(ctx, `SELECT generate_series(1, 100000)`); err != nil {
					return err
				}
			}
			return insertOrder(ctx, tx, e)
		})
	})
	w.caughtUp()
	w.exactly(19)
	if taken := kept.taken(); len(taken) != 1 || taken[0].Record.Offset != 5 {
		t.Errorf("dead letters are %v, want offset 5 alone", taken)
	}
}

func TestAResultOfTheBareConnectionThatIsLeftUnreadRaisesAnAlarmThatNamesTheEvent(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(20, 1)
	w.produce(events...)
	var mended atomic.Bool
	w.start(w.config(), func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			if err := insertOrder(ctx, tx, e); err != nil || e.Payload.Seq != 5 || mended.Load() {
				return err
			}
			_, err := tx.Conn().Query(ctx, `SELECT generate_series(1, 100)`)
			return err
		})
	})
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmRetrying)) > 0 })
	if a := w.alarmsOf(runtime.AlarmRetrying)[0]; a.EventID != events[5].EventID {
		t.Errorf("alarm is about event %s: %v, want event %s", a.EventID, a.Err, events[5].EventID)
	}
	mended.Store(true)
	w.caughtUp()
	w.exactly(20)
}
