package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

const hour, day = time.Hour, 24 * time.Hour

// uptodate is the report of a group without lag.
func uptodate(context.Context) (time.Time, bool, error) { return time.Now(), true, nil }

func lagging(by time.Duration) runtime.OldestUncommitted {
	return func(context.Context) (time.Time, bool, error) { return time.Now().Add(-by), true, nil }
}

func newMaintainer(t testing.TB, pool *pgxpool.Pool, config runtime.MaintainerConfig) *runtime.Maintainer {
	t.Helper()
	if config.Group == "" {
		config.Group = "billing"
	}
	if config.OldestUncommitted == nil {
		config.OldestUncommitted = uptodate
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	m, err := runtime.NewMaintainer(pool, config)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func maintain(t testing.TB, m *runtime.Maintainer) runtime.Upkeep {
	t.Helper()
	upkeep, err := m.Maintain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return upkeep
}

func prepare(t testing.TB, m *runtime.Maintainer) {
	t.Helper()
	if err := m.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// mark marks an event made at a time as processed and answers whether it was fresh.
func mark(t testing.TB, pool *pgxpool.Pool, at time.Time) (fresh bool, err error) {
	t.Helper()
	tag, err := pool.Exec(t.Context(), `INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, 'billing')
		ON CONFLICT DO NOTHING`, idAt(at))
	return tag.RowsAffected() == 1, err
}

func mustMark(t testing.TB, pool *pgxpool.Pool, at time.Time) {
	t.Helper()
	if _, err := mark(t, pool, at); err != nil {
		t.Fatalf("mark an event of %v: %v", at, err)
	}
}

func partitionNames(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'processed_event'::regclass ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// tenDays is a table that holds a mark of each of the last ten days.
func tenDays(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool := migrated(t, runtime.Partitioned)
	prepare(t, newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 10 * day}}))
	for d := range 10 {
		mustMark(t, pool, time.Now().Add(-time.Duration(d)*day))
	}
	return pool
}

func TestPrepareMakesAPartitionForEveryEventOfTheWindow(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{})
	prepare(t, m)
	now := m.Now()
	for _, at := range []time.Time{now.Add(-7 * day), now, now.Add(day), now.Add(7*day - time.Minute)} {
		mustMark(t, pool, at)
	}
	if until := m.Status().AheadUntil; until.Before(now.Add(7 * day)) {
		t.Errorf("partitions exist until %v, want 7 days from %v", until, now)
	}
}

func TestManyMaintainersMakeEachPartitionOnce(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	var wg sync.WaitGroup
	for range 6 {
		m := newMaintainer(t, pool, runtime.MaintainerConfig{})
		wg.Go(func() {
			if err := m.Prepare(t.Context()); err != nil {
				t.Error(err)
			}
			if m.Status().AheadUntil.IsZero() {
				t.Error("Prepare returned before there were partitions")
			}
		})
	}
	wg.Wait()
	if n := len(partitionNames(t, pool)); n < 14 || n > 15 {
		t.Errorf("%d partitions, want one for each of 14 or 15 days", n)
	}
}

func TestPartitionsAreMadeBesideAnOpenTransaction(t *testing.T) {
	pool := tenDays(t)
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(t.Context(), "INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, 'billing')", idAt(time.Now())); err != nil {
		t.Fatal(err)
	}
	upkeep := maintain(t, newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Ahead: 20 * day, Retention: 10 * day}}))
	if len(upkeep.Created) < 12 {
		t.Errorf("%d partitions created beside an open transaction, want 12 or more", len(upkeep.Created))
	}
}

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
	pattern, bound := "ALTER TABLE%DETACH%CONCURRENTLY", time.Second
	if serverVersion(t, pool) < 140000 {
		pattern, bound = "DROP TABLE%", 2*time.Second // stands in the way for 100 ms at a time
	}
	untilWaiting(t, pool, pattern)
	ctx, cancel := context.WithTimeout(t.Context(), bound)
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
		{"by a lock timeout", func(*testing.T, *pgxpool.Pool, int) {}},
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
	if _, err := m.Maintain(t.Context()); err == nil {
		t.Fatal("the detach did not wait for an open transaction")
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

// leaderLock takes the lock that a maintainer at work holds.
const leaderLock = "SELECT pg_advisory_lock(x'69646d70'::bigint << 32 | 'processed_event'::regclass::oid::bigint)"

func TestWhileOneMaintainerWorksAnotherOnlyReports(t *testing.T) {
	pool := tenDays(t)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), leaderLock); err != nil {
		t.Fatal(err)
	}
	upkeep := maintain(t, newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 3 * day}}))
	if upkeep.Leader || len(upkeep.Dropped) > 0 {
		t.Errorf("a second maintainer worked: %+v", upkeep)
	}
	if n := queryInt(t, pool, "SELECT count(*) FROM processed_event_group WHERE retention = '72:00:00'"); n != 1 {
		t.Error("the second maintainer did not report its group")
	}
}

func TestRunSurvivesADatabaseThatGoesAway(t *testing.T) {
	server := testpg.Start(t, testpg.Options{})
	pool := server.Database(t).Pool(t)
	if _, err := runtime.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 100)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{Interval: 50 * time.Millisecond, OnError: func(attempt int, err error) {
		if attempt == 1 {
			failed <- err
		}
	}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	if err := server.Stop(t.Context(), testpg.StopImmediate); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Error("a pass without a database was reported without an error")
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for since := time.Now(); !m.Status().Refreshed.After(since); {
		<-tick.C
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run answered %v after its context ended, want nil", err)
	}
}

func TestUpkeepFollowsTheSearchPathOfThePool(t *testing.T) {
	db := testpg.New(t)
	execSQL(t, db.Pool(t), "CREATE SCHEMA inbox")
	prepared := 0
	pool := db.Pool(t, func(c *pgxpool.Config) {
		c.BeforeConnect = func(context.Context, *pgx.ConnConfig) error { prepared++; return nil }
		c.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, "SET search_path = inbox")
			return err
		}
		c.MaxConns = 1
	})
	if _, err := runtime.Migrate(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	before := prepared
	prepare(t, newMaintainer(t, pool, runtime.MaintainerConfig{}))
	if prepared == before {
		t.Error("the connection for upkeep was not prepared as the pool's are")
	}
	n := queryInt(t, pool, `SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
		WHERE nspname = 'inbox' AND relispartition AND relkind = 'r'`)
	if n == 0 {
		t.Error("no partition is in the schema of the table")
	}
}

func TestAMaintainerWithoutTheRightToMakePartitionsSaysSo(t *testing.T) {
	db := testpg.New(t)
	owner := db.Pool(t)
	if _, err := runtime.Migrate(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	role := "guest_" + strings.ReplaceAll(db.Name, "-", "_")
	execSQL(t, owner, "CREATE ROLE "+role)
	t.Cleanup(func() {
		for _, sql := range []string{"DROP OWNED BY " + role, "DROP ROLE " + role} {
			if _, err := owner.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	execSQL(t, owner, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+role)
	pool := db.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.RuntimeParams["role"] = role })
	err := newMaintainer(t, pool, runtime.MaintainerConfig{}).Prepare(t.Context())
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) || pgErr.Code != "42501" {
		t.Errorf("Prepare answered %v, want SQLSTATE 42501, insufficient privilege", err)
	}
}

func TestAWrongMaintainerIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		config runtime.MaintainerConfig
	}{
		{"no group", runtime.MaintainerConfig{}},
		{"no such layout", runtime.MaintainerConfig{Group: "billing", Layout: 7}},
		{"negative interval", runtime.MaintainerConfig{Group: "billing", Interval: -1}},
		{"a window shorter than its dead letters", runtime.MaintainerConfig{Group: "billing", Window: runtime.Window{Redelivery: 8 * day}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := runtime.NewMaintainer(nil, c.config); err == nil {
				t.Error("it was accepted")
			}
		})
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
		Layout: runtime.Plain, Window: runtime.Window{Retention: 3 * day}, OldestUncommitted: lagging(6*day)})
	if upkeep := maintain(t, m); upkeep.Deleted != 2 {
		t.Errorf("%d marks deleted, want the 2 older than lag, skew and an hour", upkeep.Deleted)
	}
}

func TestThePlainLayoutChecksOnlyIDsThatTellTheirTime(t *testing.T) {
	pool := migrated(t, runtime.Plain)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{Layout: runtime.Plain})
	prepare(t, m)
	for name, c := range map[string]struct {
		id [16]byte
		ok bool
	}{
		"version 4":           {[16]byte{6: 0x40, 8: 0x80, 15: 1}, true},
		"version 7":           {idAt(m.Now()), true},
		"an old version 7":    {idAt(m.Now().Add(-8 * day)), false},
		"a version 7 to come": {idAt(m.Now().Add(2 * day)), false},
	} {
		if err := m.Check(c.id, m.Now()); (err == nil) != c.ok {
			t.Errorf("%s: %v, want it to pass: %v", name, err, c.ok)
		}
	}
}

// A record may carry any timestamp.
func TestALagFrom1970AsksForNoEndOfPartitions(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{
		OldestUncommitted: func(context.Context) (time.Time, bool, error) { return time.UnixMilli(-1), true, nil }})
	prepare(t, m)
	if n := m.Status().Partitions; n < 400 || n > 410 {
		t.Errorf("%d partitions, want 400 and a few", n)
	}
	if err := m.Check(idAt(m.Now().Add(-401*day)), m.Now()); err == nil {
		t.Error("an event from before the first partition was accepted")
	}
}

func TestALostHorizonIsNotTakenForNone(t *testing.T) {
	pool := tenDays(t)
	execSQL(t, pool, "DELETE FROM processed_event_horizon")
	m := newMaintainer(t, pool, runtime.MaintainerConfig{})
	if err := m.Prepare(t.Context()); !errors.Is(err, runtime.ErrTableUnfit) {
		t.Errorf("Prepare answered %v, want ErrTableUnfit", err)
	}
}

func TestAMaintainerThatIsKeptFromItsWorkSaysSo(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	conn, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if _, err := conn.Exec(t.Context(), leaderLock); err != nil {
		t.Fatal(err)
	}
	if _, err := newMaintainer(t, pool, runtime.MaintainerConfig{}).Maintain(t.Context()); err == nil {
		t.Error("a pass that left the window without partitions answered nil")
	}
}

func TestTheMaintainersClockIsTheDatabases(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{Now: func() time.Time { return time.Unix(0, 0) }})
	if !m.Now().Equal(time.Unix(0, 0)) {
		t.Error("before the first look the clock is not the machine's")
	}
	prepare(t, m)
	if off := time.Since(m.Now()).Abs(); off > time.Minute {
		t.Errorf("the clock is off by %v after a look at the database", off)
	}
}

func TestRefreshTellsWhatAnotherMaintainerDropped(t *testing.T) {
	pool := tenDays(t)
	idle := newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 10 * day}})
	if err := idle.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	old := idAt(idle.Now().Add(-8 * day))
	if err := idle.Check(old, idle.Now()); err != nil {
		t.Fatalf("before the drop: %v", err)
	}
	maintain(t, newMaintainer(t, pool, runtime.MaintainerConfig{Window: runtime.Window{Retention: 3 * day}}))
	if err := idle.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := idle.Check(old, idle.Now()); err == nil {
		t.Error("after the drop the event is still accepted")
	}
	if status := idle.Status(); status.Horizon.IsZero() || status.Partitions != len(partitionNames(t, pool)) {
		t.Errorf("status %+v, want a horizon and %d partitions", status, len(partitionNames(t, pool)))
	}
}

func TestPartitionsAreNamedAfterTheirDay(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	m := newMaintainer(t, pool, runtime.MaintainerConfig{})
	prepare(t, m)
	want := "processed_event_p" + m.Now().UTC().Format("20060102")
	if names := partitionNames(t, pool); !slices.Contains(names, want) {
		t.Errorf("partitions %v, want %s among them", names, want)
	}
}
