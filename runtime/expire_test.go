package runtime_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
)

func TestOldPartitionsAreDroppedAndTheirTimeIsRefused(t *testing.T) {
	pool := tenDays(t)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 3 * day}})
	upkeep := maintain(t, m)
	if n := len(upkeep.Dropped); n < 6 || n > 7 {
		t.Errorf("dropped %v, want 6 or 7 partitions", upkeep.Dropped)
	}
	if n := queryInt(t, pool, "SELECT count(*) FROM processed_event"); n < 3 || n > 4 {
		t.Errorf("%d marks left, want 3 or 4", n)
	}
	var out *runtime.OutOfWindowError
	if err := m.Check(idAt(m.Now().Add(-8*day)), m.Now()); !errors.As(err, &out) || out.Reason != runtime.ReasonTooOld {
		t.Errorf("an event whose mark is dropped: %v, want too old", err)
	}
	if _, err := mark(t, pool, m.Now().Add(-8*day)); err == nil {
		t.Error("an event whose mark is dropped was marked as new")
	}
	if left := queryInt(t, pool, `SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'processed_event_p%' AND NOT relispartition`); left != 0 {
		t.Errorf("%d detached tables are left", left)
	}
}

// An empty partition in place of a dropped one would take every repeat of that time for a fresh event.
func TestADroppedTimeIsNeverMadeAgain(t *testing.T) {
	pool := tenDays(t)
	maintain(t, newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 3 * day}}))
	// Longer partitions, too, so that the grid does not meet the horizon.
	longer := newMaintainer(t, pool, runtime.MaintainerConfig{
		Window: runtime.Window{Retention: 10 * day, Partition: 11 * day, Ahead: 12 * day}})
	prepare(t, longer)
	maintain(t, longer)
	at := longer.Now().Add(-8 * day)
	if _, err := mark(t, pool, at); err == nil {
		t.Error("an event whose mark is dropped was marked as new")
	}
	var out *runtime.OutOfWindowError
	if err := longer.Check(idAt(at), longer.Now()); !errors.As(err, &out) || out.Reason != runtime.ReasonTooOld {
		t.Errorf("Check answered %v, want too old although the retention covers it", err)
	}
}

func TestMarksAreHeldBack(t *testing.T) {
	unknown := func(context.Context) (time.Time, bool, error) { return time.Time{}, false, nil }
	failing := func(context.Context) (time.Time, bool, error) { return time.Time{}, false, errors.New("no broker") }
	other := func(config runtime.MaintainerConfig) func(*testing.T, *pgxpool.Pool) {
		return func(t *testing.T, pool *pgxpool.Pool) {
			config.Group = "shipping"
			prepare(t, newMaintainer(t, pool, config))
		}
	}
	nothing := func(*testing.T, *pgxpool.Pool) {}
	for _, c := range []struct {
		name   string
		before func(*testing.T, *pgxpool.Pool)
		config runtime.MaintainerConfig
		heldBy string
		left   int // marks that must be left at least
		most   int
	}{
		{"by nothing but the retention", nothing, runtime.MaintainerConfig{}, "billing", 3, 4},
		{"by the group's own lag", nothing, runtime.MaintainerConfig{OldestUncommitted: lagging(6*day - hour)}, "billing", 6, 7},
		{"by the time a dead letter may take", nothing, runtime.MaintainerConfig{
			OldestUncommitted: lagging(3 * day), Window: runtime.Window{Redelivery: 2 * day}}, "billing", 5, 6},
		{"by another group's lag", other(runtime.MaintainerConfig{
			OldestUncommitted: lagging(6*day - hour), Window: runtime.Window{Retention: 3 * day}}),
			runtime.MaintainerConfig{}, "shipping", 6, 7},
		{"by another group's retention", other(runtime.MaintainerConfig{Window: runtime.Window{Retention: 7 * day}}),
			runtime.MaintainerConfig{}, "shipping", 7, 8},
		{"by another group's silence", other(runtime.MaintainerConfig{OldestUncommitted: unknown}),
			runtime.MaintainerConfig{}, "shipping", 10, 10},
		{"by this machine's clock", nothing, runtime.MaintainerConfig{
			Now: func() time.Time { return time.Now().Add(-5 * day) }}, "billing", 8, 9},
		{"but not less by a clock ahead", nothing, runtime.MaintainerConfig{
			Now: func() time.Time { return time.Now().Add(300 * day) }}, "billing", 3, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pool := tenDays(t)
			c.before(t, pool)
			c.config.Window.Retention = 3 * day
			upkeep := maintain(t, newMaintainer(t, pool, c.config))
			if upkeep.HeldBy != c.heldBy {
				t.Errorf("held by %q, want %q", upkeep.HeldBy, c.heldBy)
			}
			if n := queryInt(t, pool, "SELECT count(*) FROM processed_event"); n < c.left || n > c.most {
				t.Errorf("%d marks left, want %d to %d", n, c.left, c.most)
			}
		})
	}
	t.Run("while the lag was never known", func(t *testing.T) {
		pool := migrated(t, runtime.Partitioned)
		prepare(t, newMaintainer(t, pool, runtime.MaintainerConfig{OldestUncommitted: unknown, Window: runtime.Window{Retention: 10 * day}}))
		upkeep := maintain(t, newMaintainer(t, pool, runtime.MaintainerConfig{OldestUncommitted: unknown, Window: runtime.Window{Retention: day}}))
		if len(upkeep.Dropped) != 0 {
			t.Errorf("dropped %v without knowing the lag", upkeep.Dropped)
		}
	})
	t.Run("and partitions are made while the lag cannot be asked for", func(t *testing.T) {
		pool := migrated(t, runtime.Partitioned)
		upkeep, err := newMaintainer(t, pool, runtime.MaintainerConfig{OldestUncommitted: failing}).Maintain(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no broker") {
			t.Errorf("Maintain answered %v, want the reason", err)
		}
		if len(upkeep.Created) == 0 {
			t.Error("no partition was made")
		}
	})
}

// Committed offsets only rise, so what was reported once stays true.
func TestAnUnknownLagDoesNotReplaceAKnownOne(t *testing.T) {
	pool := tenDays(t)
	prepare(t, newMaintainer(t, pool, runtime.MaintainerConfig{OldestUncommitted: lagging(5*day - hour)}))
	m := newMaintainer(t, pool, runtime.MaintainerConfig{
		Window:            runtime.Window{Retention: 3 * day},
		OldestUncommitted: func(context.Context) (time.Time, bool, error) { return time.Time{}, false, nil },
	})
	maintain(t, m)
	if n := queryInt(t, pool, "SELECT count(*) FROM processed_event"); n < 5 || n > 6 {
		t.Errorf("%d marks left, want the 5 or 6 that the lag reported before covers", n)
	}
}

// A consumer that was down for longer than the retention finds its marks, and its events are accepted.
func TestEventsOlderThanTheRetentionAreAcceptedWhileLagKeepsTheirMarks(t *testing.T) {
	pool := tenDays(t)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{
		Window: runtime.Window{Retention: 3 * day}, OldestUncommitted: lagging(6 * day)})
	maintain(t, m)
	if err := m.Check(idAt(m.Now().Add(-5*day)), m.Now()); err != nil {
		t.Errorf("an event that the lag covers: %v", err)
	}
	if err := m.Check(idAt(m.Now().Add(-7*day)), m.Now()); err == nil {
		t.Error("an event older than retention and lag was accepted")
	}
	mustMark(t, pool, m.Now().Add(-5*day))
}

// The lag may be older than any partition, as for a group that starts on an old topic.
func TestPartitionsAreMadeForEventsThatAreStillToCome(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{OldestUncommitted: lagging(20 * day)})
	prepare(t, m)
	mustMark(t, pool, m.Now().Add(-20*day))
	if err := m.Check(idAt(m.Now().Add(-20*day+hour)), m.Now()); err != nil {
		t.Error(err)
	}
}

func TestAForgottenGroupHoldsNothingBack(t *testing.T) {
	pool := tenDays(t)
	gone := newMaintainer(t, pool, runtime.MaintainerConfig{Group: "gone", OldestUncommitted: lagging(9 * day)})
	prepare(t, gone)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 3 * day}})
	if upkeep := maintain(t, m); upkeep.HeldBy != "gone" {
		t.Fatalf("held by %q, want gone", upkeep.HeldBy)
	}
	if was, err := runtime.ForgetGroup(t.Context(), pool, "gone"); err != nil || !was {
		t.Fatalf("ForgetGroup answered %v, %v", was, err)
	}
	if upkeep := maintain(t, m); len(upkeep.Dropped) == 0 {
		t.Error("nothing was dropped after the group was forgotten")
	}
	if was, err := runtime.ForgetGroup(t.Context(), pool, "gone"); err != nil || was {
		t.Errorf("ForgetGroup of nobody answered %v, %v", was, err)
	}
}

// holdTable opens a transaction that holds a lock on every partition, as a batch in flight may.
func holdTable(t testing.TB, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM processed_event"); err != nil {
		t.Fatal(err)
	}
	return tx
}

// untilWaiting waits until a session runs a statement like pattern and waits for a lock.
func untilWaiting(t testing.TB, pool *pgxpool.Pool, pattern string) (pid int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		err := pool.QueryRow(ctx, `SELECT pid FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`, pattern).Scan(&pid)
		if err == nil {
			return pid
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
	}
}

func serverVersion(t testing.TB, pool *pgxpool.Pool) int {
	return queryInt(t, pool, "SELECT current_setting('server_version_num')::int")
}

func TestADropStallsNoInsert(t *testing.T) {
	pool := tenDays(t)
	holder := holdTable(t, pool)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 3 * day}})
	done := make(chan error, 1)
	go func() {
		_, err := m.Maintain(context.WithoutCancel(t.Context()))
		done <- err
	}()
	pattern := "ALTER TABLE%DETACH%CONCURRENTLY"
	if serverVersion(t, pool) < 140000 {
		pattern = "DROP TABLE%" // stands in the way for 100 ms at a time
	}
	untilWaiting(t, pool, pattern)
	// The transaction that the drop waits for is open until this returns.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	_, err := pool.Exec(ctx, "INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, 'billing')", idAt(time.Now()))
	if err != nil {
		t.Errorf("an insert while a drop waits for a transaction: %v", err)
	}
	if err := holder.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the drop: %v", err)
	}
}

func TestADetachThatWasCutOffIsFinished(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(t *testing.T, pool *pgxpool.Pool, pid int)
	}{
		{"by a cancel", func(t *testing.T, pool *pgxpool.Pool, pid int) {
			execSQL(t, pool, "SELECT pg_cancel_backend($1)", pid)
		}},
		{"by a dead connection", func(t *testing.T, pool *pgxpool.Pool, pid int) {
			execSQL(t, pool, "SELECT pg_terminate_backend($1)", pid)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := tenDays(t)
			if serverVersion(t, pool) < 140000 {
				t.Skip("PostgreSQL 13 has no concurrent detach to cut off")
			}
			holder := holdTable(t, pool)
			m := newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 3 * day}})
			done := make(chan error, 1)
			go func() {
				_, err := m.Maintain(context.WithoutCancel(t.Context()))
				done <- err
			}()
			c.cut(t, pool, untilWaiting(t, pool, "ALTER TABLE%DETACH%CONCURRENTLY"))
			if err := <-done; err == nil {
				t.Fatal("a pass that was cut off answered nil")
			}
			if n := queryInt(t, pool, "SELECT count(*) FROM pg_inherits WHERE inhdetachpending"); n != 1 {
				t.Fatalf("%d detaches are pending, want 1", n)
			}
			if err := holder.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			upkeep := maintain(t, m)
			if n := len(upkeep.Dropped); n < 6 || n > 7 {
				t.Errorf("dropped %v, want 6 or 7 partitions", upkeep.Dropped)
			}
			if n := queryInt(t, pool, "SELECT count(*) FROM pg_inherits WHERE inhdetachpending"); n != 0 {
				t.Errorf("%d detaches are still pending", n)
			}
		})
	}
}

// From the moment a detach is begun its time must be refused, whatever becomes of the detach.
func TestTheHorizonRisesBeforeAPartitionGoes(t *testing.T) {
	pool := tenDays(t)
	if serverVersion(t, pool) < 140000 {
		t.Skip("PostgreSQL 13 drops in one step")
	}
	holdTable(t, pool)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 3 * day}})
	ctx, cut := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := m.Maintain(ctx)
		done <- err
	}()
	untilWaiting(t, pool, "ALTER TABLE%DETACH%CONCURRENTLY")
	cut()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatalf("Maintain answered %v, want that it was cut off", err)
	}
	oldest := queryInt(t, pool, `SELECT count(*) FROM processed_event_horizon
		WHERE dropped_before > now() - interval '11 days' AND dropped_before < now() - interval '3 days'`)
	if oldest != 1 {
		t.Error("the horizon did not rise")
	}
}

func TestADetachedPartitionWaitingToBeDroppedIsDropped(t *testing.T) {
	pool := tenDays(t)
	names := partitionNames(t, pool)
	expired, kept := names[0], names[1]
	execSQL(t, pool, "COMMENT ON TABLE "+expired+" IS 'idemlint: expired'")
	for _, name := range []string{expired, kept} {
		execSQL(t, pool, "ALTER TABLE processed_event DETACH PARTITION "+name)
	}
	maintain(t, newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 3 * day}}))
	if n := queryInt(t, pool, "SELECT count(*) FROM pg_class WHERE relname = $1", expired); n != 0 {
		t.Error("a detached partition that was to be dropped is still there")
	}
	if n := queryInt(t, pool, "SELECT count(*) FROM pg_class WHERE relname = $1", kept); n != 1 {
		t.Error("a partition that a person detached was dropped")
	}
}

func TestThePlainLayoutForgetsOldMarks(t *testing.T) {
	pool := migrated(t, runtime.Plain)
	// More than one batch of them, and some that are a day younger.
	execSQL(t, pool, `INSERT INTO processed_event
		SELECT gen_random_uuid(), 'billing', now() - interval '5 days' FROM generate_series(1, 12000)`)
	execSQL(t, pool, `INSERT INTO processed_event
		SELECT gen_random_uuid(), 'billing', now() - interval '4 days' - interval '59 minutes' FROM generate_series(1, 100)`)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{Layout: runtime.Plain, Window: runtime.Window{Retention: 3 * day}})
	prepare(t, m)
	if upkeep := maintain(t, m); upkeep.Deleted != 12000 {
		t.Errorf("%d marks deleted, want the 12000 older than retention, skew and an hour", upkeep.Deleted)
	}
	if n := queryInt(t, pool, "SELECT count(*) FROM processed_event"); n != 100 {
		t.Errorf("%d marks left, want 100", n)
	}
}

func TestThePlainLayoutHoldsMarksBackForLag(t *testing.T) {
	pool := migrated(t, runtime.Plain)
	execSQL(t, pool, `INSERT INTO processed_event
		SELECT gen_random_uuid(), 'billing', now() - d * interval '1 day' FROM generate_series(0, 9) d`)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{
		Layout: runtime.Plain, Window: runtime.Window{Retention: 3 * day}, OldestUncommitted: lagging(6 * day)})
	if upkeep := maintain(t, m); upkeep.Deleted != 2 {
		t.Errorf("%d marks deleted, want the 2 older than lag, skew and an hour", upkeep.Deleted)
	}
}
