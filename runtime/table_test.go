package runtime_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

var update = flag.Bool("update", false, "rewrite golden files")

func execSQL(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestMigratingADatabaseThatIsAwayIsAnError(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/away")
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	applied, err := runtime.Migrate(t.Context(), pool)
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) || len(applied) > 0 {
		t.Errorf("applied %v, error %v; want none, and the error of the connection", applied, err)
	}
}

func queryInt(t testing.TB, pool *pgxpool.Pool, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// migrated is a database with the tables of a layout.
func migrated(t testing.TB, layout runtime.Layout) *pgxpool.Pool {
	t.Helper()
	pool := testpg.New(t).Pool(t)
	if _, err := runtime.Migrate(t.Context(), pool, layout); err != nil {
		t.Fatal(err)
	}
	return pool
}

// A service that applied a migration with its own tool will never apply it again, so it must not change.
func TestPublishedMigrationsNeverChange(t *testing.T) {
	for _, layout := range []runtime.Layout{runtime.Partitioned, runtime.Plain} {
		t.Run(layout.String(), func(t *testing.T) {
			var all strings.Builder
			for i, m := range runtime.Migrations(layout) {
				if m.Version != i+1 {
					t.Errorf("migration %s has version %d, want %d", m.Name, m.Version, i+1)
				}
				fmt.Fprintf(&all, "-- migration %d: %s\n%s\n", m.Version, m.Name, m.SQL)
			}
			golden := filepath.Join("testdata", "migrations."+layout.String()+".golden.sql")
			if *update {
				if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if all.String() != string(want) {
				t.Errorf("migrations differ from %s", golden)
			}
		})
	}
}

func TestMigratingTwiceAppliesOnce(t *testing.T) {
	for _, layout := range []runtime.Layout{runtime.Partitioned, runtime.Plain} {
		t.Run(layout.String(), func(t *testing.T) {
			pool := testpg.New(t).Pool(t)
			first, err := runtime.Migrate(t.Context(), pool, layout)
			if err != nil {
				t.Fatal(err)
			}
			again, err := runtime.Migrate(t.Context(), pool, layout)
			if err != nil {
				t.Fatal(err)
			}
			if len(first) != len(runtime.Migrations(layout)) || len(again) != 0 {
				t.Errorf("applied %d and then %d migrations, want %d and then 0",
					len(first), len(again), len(runtime.Migrations(layout)))
			}
		})
	}
}

func TestManyProcessesMayMigrateAtOnce(t *testing.T) {
	pool := testpg.New(t).Pool(t, func(c *pgxpool.Config) { c.MaxConns = 8 })
	var mu sync.Mutex
	var wg sync.WaitGroup
	total := 0
	for range 8 {
		wg.Go(func() {
			applied, err := runtime.Migrate(t.Context(), pool)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += len(applied)
		})
	}
	wg.Wait()
	if want := len(runtime.Migrations(runtime.Partitioned)); total != want {
		t.Errorf("%d migrations applied, want %d", total, want)
	}
}

func TestMigratingToTheOtherLayoutIsRefused(t *testing.T) {
	pool := migrated(t, runtime.Plain)
	if _, err := runtime.Migrate(t.Context(), pool, runtime.Partitioned); !errors.Is(err, runtime.ErrLayoutMismatch) {
		t.Errorf("Migrate answered %v, want ErrLayoutMismatch", err)
	}
}

func TestAFailedMigrationLeavesNothingBehind(t *testing.T) {
	pool := testpg.New(t).Pool(t)
	execSQL(t, pool, "CREATE TABLE quarantined_event (id int)") // in the way of a later migration
	if _, err := runtime.Migrate(t.Context(), pool); err == nil {
		t.Fatal("Migrate passed over a table that was in the way")
	}
	if n := queryInt(t, pool, "SELECT count(*) FROM pg_class WHERE relname IN ('processed_event', 'idemlint_migration')"); n != 0 {
		t.Errorf("%d tables of a failed migration are left", n)
	}
}

// countEffects lets workers process the same events side by side, each event in a transaction of its own that marks
// it and has an effect if the mark is new, and answers the number of effects. It is what one sees when a rebalance
// hands a partition over while its old owner still works.
func countEffects(t *testing.T, pool *pgxpool.Pool, ids []uuid.UUID, workers int) int {
	t.Helper()
	execSQL(t, pool, "CREATE TABLE effect (event_id uuid NOT NULL)")
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for _, id := range ids {
				if err := processOnce(t.Context(), pool, id); err != nil {
					t.Errorf("process %s: %v", id, err)
					return
				}
			}
		})
	}
	wg.Wait()
	return queryInt(t, pool, "SELECT count(*) FROM effect")
}

func processOnce(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID) error {
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, 'billing')
			ON CONFLICT DO NOTHING`, id)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO effect VALUES ($1)", id)
		return err
	})
}

// The layout found in guides, with the time of processing in the key so that the table can be partitioned by it, is
// no dedup table: every transaction has its own now(), hence its own key.
func TestOnlyALayoutWithoutTheTimeInItsKeyDeduplicates(t *testing.T) {
	events, workers := 500*scale(t), 8
	prepared := func(t *testing.T, layout runtime.Layout) *pgxpool.Pool {
		pool := migrated(t, layout)
		maintainer, err := runtime.NewMaintainer(pool, runtime.MaintainerConfig{Group: "billing", Layout: layout})
		if err != nil {
			t.Fatal(err)
		}
		if err := maintainer.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		return pool
	}
	for _, c := range []struct {
		name  string
		pool  func(t *testing.T) *pgxpool.Pool
		exact bool
	}{
		{"partitioned by event_id", func(t *testing.T) *pgxpool.Pool { return prepared(t, runtime.Partitioned) }, true},
		{"plain", func(t *testing.T) *pgxpool.Pool { return prepared(t, runtime.Plain) }, true},
		{"partitioned by processed_at", keyedByTime, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := c.pool(t)
			ids := make([]uuid.UUID, events)
			for i := range ids {
				ids[i] = idAt(time.Now())
			}
			effects := countEffects(t, pool, ids, workers)
			t.Logf("%d effects of %d events by %d workers", effects, events, workers)
			if exact := effects == events; exact != c.exact {
				t.Errorf("%d effects of %d events, want them equal: %v", effects, events, c.exact)
			}
		})
	}
}

// keyedByTime is the layout that does not deduplicate.
func keyedByTime(t *testing.T) *pgxpool.Pool {
	pool := testpg.New(t).Pool(t)
	execSQL(t, pool, `
		CREATE TABLE processed_event (
			event_id       uuid        NOT NULL,
			consumer_group text        NOT NULL,
			processed_at   timestamptz NOT NULL DEFAULT now(),
			PRIMARY KEY (event_id, processed_at)
		) PARTITION BY RANGE (processed_at)`)
	execSQL(t, pool, `CREATE TABLE processed_event_all PARTITION OF processed_event FOR VALUES FROM (MINVALUE) TO (MAXVALUE)`)
	return pool
}

func TestATableThatWouldNotDeduplicateIsRefused(t *testing.T) {
	pool := testpg.New(t).Pool(t)
	const columns = `event_id uuid NOT NULL, consumer_group text NOT NULL, processed_at timestamptz NOT NULL DEFAULT now()`
	for _, c := range []struct {
		name   string
		sql    string
		layout runtime.Layout
		want   error
	}{
		{"there is none", "SELECT", runtime.Partitioned, runtime.ErrNotMigrated},
		{"the time is in the key", "CREATE TABLE processed_event (" + columns + ", PRIMARY KEY (event_id, processed_at)) PARTITION BY RANGE (processed_at)",
			runtime.Partitioned, runtime.ErrTableUnfit},
		{"the time is in the key of a plain table", "CREATE TABLE processed_event (" + columns + ", PRIMARY KEY (event_id, consumer_group, processed_at))",
			runtime.Plain, runtime.ErrTableUnfit},
		{"the group is not in the key", "CREATE TABLE processed_event (" + columns + ", PRIMARY KEY (event_id))",
			runtime.Plain, runtime.ErrTableUnfit},
		{"no key", "CREATE TABLE processed_event (" + columns + ")", runtime.Plain, runtime.ErrTableUnfit},
		{"a key on some rows only", "CREATE TABLE processed_event (" + columns + "); CREATE UNIQUE INDEX ON processed_event (event_id, consumer_group) WHERE consumer_group <> ''",
			runtime.Plain, runtime.ErrTableUnfit},
		{"a key checked at commit", "CREATE TABLE processed_event (" + columns + ", UNIQUE (event_id, consumer_group) DEFERRABLE)",
			runtime.Plain, runtime.ErrTableUnfit},
		{"partitioned by hash", "CREATE TABLE processed_event (" + columns + ", PRIMARY KEY (event_id, consumer_group)) PARTITION BY HASH (event_id)",
			runtime.Partitioned, runtime.ErrTableUnfit},
		{"partitioned by group", "CREATE TABLE processed_event (" + columns + ", PRIMARY KEY (event_id, consumer_group)) PARTITION BY RANGE (consumer_group)",
			runtime.Partitioned, runtime.ErrTableUnfit},
		{"a default partition", "CREATE TABLE processed_event (" + columns + ", PRIMARY KEY (event_id, consumer_group)) PARTITION BY RANGE (event_id); CREATE TABLE rest PARTITION OF processed_event DEFAULT",
			runtime.Partitioned, runtime.ErrTableUnfit},
		{"unlogged", "CREATE UNLOGGED TABLE processed_event (" + columns + ", PRIMARY KEY (event_id, consumer_group))",
			runtime.Plain, runtime.ErrTableUnfit},
		{"an unlogged partition", "CREATE TABLE processed_event (" + columns + ", PRIMARY KEY (event_id, consumer_group)) PARTITION BY RANGE (event_id); CREATE UNLOGGED TABLE part PARTITION OF processed_event FOR VALUES FROM ('00000000-0000-0000-0000-000000000000') TO ('10000000-0000-0000-0000-000000000000')",
			runtime.Partitioned, runtime.ErrTableUnfit},
		{"plain where partitioned is asked for", "CREATE TABLE processed_event (" + columns + ", PRIMARY KEY (event_id, consumer_group))",
			runtime.Partitioned, runtime.ErrLayoutMismatch},
		{"partitioned where plain is asked for", "CREATE TABLE processed_event (" + columns + ", PRIMARY KEY (event_id, consumer_group)) PARTITION BY RANGE (event_id)",
			runtime.Plain, runtime.ErrLayoutMismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			execSQL(t, pool, "DROP TABLE IF EXISTS processed_event CASCADE")
			execSQL(t, pool, c.sql)
			m, err := runtime.NewMaintainer(pool, runtime.MaintainerConfig{Group: "billing", Layout: c.layout})
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Prepare(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("Prepare answered %v, want %v", err, c.want)
			}
		})
	}
}
