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
