package runtime_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/idemlint/idemlint/runtime"
)

func TestEveryEventIsAppliedOnce(t *testing.T) {
	forms := map[string]func(*world) func(*runtime.Consumer){
		"Handle":                func(w *world) func(*runtime.Consumer) { return w.ledger },
		"Handle with the queue": func(w *world) func(*runtime.Consumer) { return w.queued },
		"HandleBatch":           func(w *world) func(*runtime.Consumer) { return w.batched },
		"Handle in a savepoint": func(w *world) func(*runtime.Consumer) { return w.nested },
		"Handle queued and not": func(w *world) func(*runtime.Consumer) { return w.mixed },
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 3)
			events := orders(1200, 20)
			w.produce(events...)
			w.produce(events[:400]...)
			r := w.start(w.config(), form(w))
			w.caughtUp()
			if err := r.stop(); err != nil {
				t.Errorf("Run returned %v", err)
			}
			w.exactly(1200)
			w.orderedPerKey()
			if s := r.Stats(); s.Processed != 1200 || s.Duplicates != 400 {
				t.Errorf("stats are %+v, want 1200 processed and 400 duplicates", s)
			}
			w.noGoroutines()
		})
	}
}

func (w *world) batched(c *runtime.Consumer) {
	runtime.HandleBatch(c, w.topic, func(ctx context.Context, tx pgx.Tx, events []runtime.Event[order]) error {
		rows := make([][]any, len(events))
		for i, e := range events {
			rows[i] = []any{e.ID, e.Payload.Key, e.Payload.Seq, e.Payload.Amount}
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"ledger"}, []string{"event_id", "key", "seq", "amount"}, pgx.CopyFromRows(rows))
		return err
	})
}

func (w *world) nested(c *runtime.Consumer) {
	runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		// A failed statement in a savepoint of the handler's own is its own affair.
		if err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, insertSQL, e.ID, e.Payload.Key, e.Payload.Seq, -1)
			return err
		}); err == nil {
			return context.Canceled
		}
		return pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { return insertOrder(ctx, tx, e) })
	})
}

func (w *world) mixed(c *runtime.Consumer) {
	runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		if e.Payload.Seq%3 == 0 {
			return insertOrder(ctx, tx, e)
		}
		return queueOrder(ctx, tx, e)
	})
}

func TestAConfigThatCannotWorkIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	cases := map[string]struct {
		change func(*runtime.Config)
		want   string
	}{
		"no brokers":       {func(c *runtime.Config) { c.Brokers = nil }, "Brokers"},
		"no group":         {func(c *runtime.Config) { c.Group = "" }, "Group"},
		"batch too large":  {func(c *runtime.Config) { c.BatchSize = 1001 }, "BatchSize"},
		"no concurrency":   {func(c *runtime.Config) { c.Concurrency = -1 }, "Concurrency"},
		"negative timeout": {func(c *runtime.Config) { c.LockTimeout = -1 }, "LockTimeout"},
		"backoff reversed": {func(c *runtime.Config) { c.BackoffMin = 2 * c.BackoffMax }, "BackoffMax"},
		"unknown protocol": {func(c *runtime.Config) { c.Protocol = 7 }, "Protocol"},
		"retention shorter than redelivery": {
			func(c *runtime.Config) { c.Window.Retention, c.Window.Redelivery = 1e12, 2e12 }, "redelivered",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := w.config()
			tc.change(&cfg)
			if _, err := runtime.New(w.pool, cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("New returned %v, want an error about %s", err, tc.want)
			}
		})
	}
}

func TestAConsumerWithoutItsTableDoesNotStart(t *testing.T) {
	w := newWorld(t, 1)
	w.exec(`DROP TABLE processed_event CASCADE`)
	r := w.start(w.config(), w.ledger)
	if err := r.wait(); err == nil {
		t.Error("Run returned nil without a table")
	}
}

func TestHandlersThatDoNotFitTogetherAreRefused(t *testing.T) {
	w := newWorld(t, 1)
	cases := map[string]struct {
		register func(*runtime.Consumer)
		want     string
	}{
		"none":            {func(*runtime.Consumer) {}, "no handler"},
		"two for a topic": {func(c *runtime.Consumer) { w.ledger(c); w.queued(c) }, "two handlers"},
		"nil":             {func(c *runtime.Consumer) { runtime.Handle[order](c, w.topic, nil) }, "nil handler"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := w.start(w.config(), tc.register)
			if err := r.wait(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Run returned %v, want an error about %s", err, tc.want)
			}
		})
	}
}

// TestAConsumerThatTakesOverSkipsWhatItsPredecessorMarked has a consumer of another kind
// leave ten events with their offset committed, and five with a mark of its own only.
func TestAConsumerThatTakesOverSkipsWhatItsPredecessorMarked(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(20, 1)
	w.produce(events...)
	w.exec(`CREATE TABLE old_table (id uuid PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now())`)
	for _, o := range events[:15] {
		w.exec(`INSERT INTO old_table (id) VALUES ($1)`, o.EventID)
		w.exec(insertSQL, o.EventID, o.Key, o.Seq, o.Amount)
	}
	var offsets kadm.Offsets
	offsets.AddOffset(w.topic, 0, 10, -1)
	if err := w.admin.CommitAllOffsets(t.Context(), w.group, offsets); err != nil {
		t.Fatal(err)
	}

	w.prepareTable()
	w.exec(`INSERT INTO processed_event (event_id, consumer_group)
		SELECT id, $1 FROM old_table WHERE created_at > now() - interval '7 days' ON CONFLICT DO NOTHING`, w.group)
	r := w.start(w.config(), w.ledger)
	w.caughtUp()
	w.exactly(20)
	if s := r.Stats(); s.Processed != 5 || s.Duplicates != 5 {
		t.Errorf("stats are %+v, want five processed and five duplicates", s)
	}
}
