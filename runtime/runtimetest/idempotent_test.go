package runtimetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

const topic = "payment-service.payment.captured"

type payment struct {
	EventID uuid.UUID `json:"eventId"`
	Account string    `json:"account"`
	Amount  int       `json:"amount"`
}

// payments are n events for a few accounts.
func payments(n int) []*kgo.Record {
	records := make([]*kgo.Record, n)
	for i := range records {
		p := payment{runtimetest.IDAt(time.Now()), fmt.Sprintf("account-%d", i%5), 100 + i}
		value, err := json.Marshal(p)
		if err != nil {
			panic(err) // of plain values
		}
		records[i] = &kgo.Record{Topic: topic, Key: []byte(p.Account), Value: value}
	}
	return records
}

func tables(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `
		CREATE TABLE entry (
			id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
			account    text        NOT NULL,
			amount     integer     NOT NULL,
			nth        integer     NOT NULL DEFAULT 0,
			created_at timestamptz NOT NULL DEFAULT now()
		);
		CREATE TABLE balance (account text PRIMARY KEY, amount integer NOT NULL)`)
	return err
}

func book(ctx context.Context, tx pgx.Tx, p payment) error {
	if _, err := tx.Exec(ctx, "INSERT INTO entry (account, amount) VALUES ($1, $2)", p.Account, p.Amount); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO balance AS b VALUES ($1, $2)
		ON CONFLICT (account) DO UPDATE SET amount = b.amount + excluded.amount`, p.Account, p.Amount)
	return err
}

// judgement collects what AssertIdempotent says instead of failing the test.
type judgement struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (j *judgement) Errorf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.failures = append(j.failures, fmt.Sprintf(format, args...))
}

func (j *judgement) text() string { return strings.Join(j.failures, "\n") }

func TestHandlersThatWorkInTheirTransactionAreIdempotent(t *testing.T) {
	t.Parallel()
	for _, layout := range []runtime.Layout{runtime.Partitioned, runtime.Plain} {
		t.Run(layout.String(), func(t *testing.T) {
			runtimetest.AssertIdempotent(t, runtimetest.Service{
				Setup:   tables,
				Config:  runtime.Config{Layout: layout},
				Records: payments(60),
				Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
					runtime.Handle(c, topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[payment]) error {
						return book(ctx, tx, e.Payload)
					})
				},
			})
		})
	}
}

func TestBatchHandlersAreIdempotent(t *testing.T) {
	t.Parallel()
	runtimetest.AssertIdempotent(t, runtimetest.Service{
		Setup:   tables,
		Config:  runtime.Config{Concurrency: 3},
		Records: payments(60),
		Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
			runtime.HandleBatch(c, topic, func(ctx context.Context, tx pgx.Tx, events []runtime.Event[payment]) error {
				for _, e := range events {
					if err := book(ctx, tx, e.Payload); err != nil {
						return err
					}
				}
				return nil
			})
		},
	})
}

func emit(ctx context.Context, tx pgx.Tx, p payment) error {
	_, err := runtime.Emit(ctx, tx, "ledger.entry.booked", p.Account, payment{Account: p.Account, Amount: p.Amount})
	return err
}

func TestHandlersThatEmitInTheirTransactionAreIdempotent(t *testing.T) {
	t.Parallel()
	runtimetest.AssertIdempotent(t, runtimetest.Service{
		Records: payments(60),
		Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
			runtime.Handle(c, topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[payment]) error {
				return emit(ctx, tx, e.Payload)
			})
		},
	})
}

func TestMistakesAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		service func() runtimetest.Service
		finds   []string
	}{
		{"work outside of the transaction", func() runtimetest.Service {
			return runtimetest.Service{Register: func(c *runtime.Consumer, pool *pgxpool.Pool) {
				runtime.Handle(c, topic, func(ctx context.Context, _ pgx.Tx, e runtime.Event[payment]) error {
					_, err := pool.Exec(ctx, "INSERT INTO entry (account, amount) VALUES ($1, $2)", e.Payload.Account, e.Payload.Amount)
					return err
				})
			}}
		}, []string{"a crash at step AfterHandlers", "a crash at step BeforeCommit", "a COMMIT that never arrives", "public.entry", "too often"}},
		{"an event emitted outside of the transaction", func() runtimetest.Service {
			return runtimetest.Service{Register: func(c *runtime.Consumer, pool *pgxpool.Pool) {
				runtime.Handle(c, topic, func(ctx context.Context, _ pgx.Tx, e runtime.Event[payment]) error {
					return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return emit(ctx, tx, e.Payload) })
				})
			}}
		}, []string{"a crash at step BeforeCommit", "outbox_message", "too often", "account-"}},
		{"work that a crash forgets", func() runtimetest.Service {
			return runtimetest.Service{Register: func(c *runtime.Consumer, pool *pgxpool.Pool) {
				sum := map[string]int{}
				runtime.Handle(c, topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[payment]) error {
					sum[e.Payload.Account] += e.Payload.Amount
					_, err := tx.Exec(ctx, `INSERT INTO balance VALUES ($1, $2)
						ON CONFLICT (account) DO UPDATE SET amount = excluded.amount`, e.Payload.Account, sum[e.Payload.Account])
					return err
				})
			}, Config: runtime.Config{BatchSize: 4}}
		}, []string{"a crash at step AfterHandlers", "public.balance", "missing"}},
		{"an effect elsewhere without a key", func() runtimetest.Service {
			var charges []string
			return runtimetest.Service{
				Setup: func(ctx context.Context, pool *pgxpool.Pool) error {
					charges = nil
					return tables(ctx, pool)
				},
				Outside: func() []string { return charges },
				Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
					runtime.Handle(c, topic, func(_ context.Context, _ pgx.Tx, e runtime.Event[payment]) error {
						charges = append(charges, e.ID.String())
						return nil
					})
				},
			}
		}, []string{"a crash at step BeforeCommit", "(outside)", "too often"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			service := c.service()
			service.Records = payments(30)
			if service.Setup == nil {
				service.Setup = tables
			}
			if service.Config.BatchSize == 0 {
				service.Config.BatchSize = 30
			}
			// One partition at a time, as the handlers under test are not safe for more.
			for _, r := range service.Records {
				r.Key = []byte("one")
			}
			verdict := &judgement{TB: t}
			runtimetest.AssertIdempotent(verdict, service)
			for _, want := range c.finds {
				if !strings.Contains(verdict.text(), want) {
					t.Errorf("the verdict does not speak of %q:\n%s", want, verdict.text())
				}
			}
			if strings.Contains(verdict.text(), "with repeated and reordered records") {
				t.Errorf("repeats alone were blamed, which the runtime takes out:\n%s", verdict.text())
			}
		})
	}
}

func TestAnEffectElsewhereUnderTheEventsKeyIsIdempotent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	charged := map[uuid.UUID]bool{}
	runtimetest.AssertIdempotent(t, runtimetest.Service{
		Records: payments(30),
		Setup: func(context.Context, *pgxpool.Pool) error {
			clear(charged)
			return nil
		},
		Outside: func() (lines []string) {
			for id := range charged {
				lines = append(lines, id.String())
			}
			return lines
		},
		Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
			runtime.Handle(c, topic, func(_ context.Context, _ pgx.Tx, e runtime.Event[payment]) error {
				mu.Lock()
				defer mu.Unlock()
				charged[e.ID] = true
				return nil
			})
		},
	})
}

func TestOnlyIgnoredColumnsMayDiffer(t *testing.T) {
	t.Parallel()
	numbered := func(ignore ...string) runtimetest.Service {
		calls := 0
		return runtimetest.Service{
			Setup:   tables,
			Records: payments(20),
			Ignore:  ignore,
			Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
				runtime.Handle(c, topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[payment]) error {
					calls++
					_, err := tx.Exec(ctx, "INSERT INTO entry (account, amount, nth) VALUES ($1, $2, $3)", e.Payload.Account, e.Payload.Amount, calls)
					return err
				})
			},
		}
	}
	for _, c := range []struct {
		name   string
		ignore []string
		passes bool
	}{
		{"another column", []string{"entry.account"}, false},
		{"the column", []string{"entry.nth"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			service := numbered(c.ignore...)
			for _, r := range service.Records {
				r.Key = []byte("one")
			}
			verdict := &judgement{TB: t}
			runtimetest.AssertIdempotent(verdict, service)
			if passes := len(verdict.failures) == 0; passes != c.passes {
				t.Errorf("passes: %v, want %v\n%s", passes, c.passes, verdict.text())
			}
		})
	}
}

func TestAHandlerThatStopsItsPartitionIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	verdict := &fatal{TB: t}
	began := time.Now()
	verdict.run(func() {
		runtimetest.AssertIdempotent(verdict, runtimetest.Service{
			Setup:   tables,
			Records: payments(3),
			Timeout: time.Hour,
			Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
				runtime.Handle(c, topic, func(context.Context, pgx.Tx, runtime.Event[payment]) error {
					return fmt.Errorf("no such account")
				})
			},
		})
	})
	if !strings.Contains(verdict.message, "no such account") {
		t.Errorf("the verdict is %q, want the handler's error", verdict.message)
	}
	if took := time.Since(began); took > 5*time.Minute { // a hang, not a slow machine
		t.Errorf("it took %v to tell", took)
	}
}

func TestThereMustBeSomethingToCompare(t *testing.T) {
	t.Parallel()
	verdict := &fatal{TB: t}
	verdict.run(func() {
		runtimetest.AssertIdempotent(verdict, runtimetest.Service{
			Records: payments(3),
			Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
				runtime.Handle(c, topic, func(context.Context, pgx.Tx, runtime.Event[payment]) error { return nil })
			},
		})
	})
	if !strings.Contains(verdict.message, "nothing to compare") {
		t.Errorf("the verdict is %q, want that there is nothing to compare", verdict.message)
	}
}

// fatal catches a Fatal, which ends the goroutine it is called on.
type fatal struct {
	testing.TB
	message string
}

type failed struct{}

func (f *fatal) Fatal(args ...any) {
	f.message = fmt.Sprint(args...)
	panic(failed{})
}

func (f *fatal) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

func (f *fatal) run(do func()) {
	defer func() {
		if r := recover(); r != nil && r != (failed{}) {
			panic(r)
		}
	}()
	do()
}
