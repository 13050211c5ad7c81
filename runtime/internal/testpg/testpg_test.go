package testpg_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

func exec(t *testing.T, pool *pgxpool.Pool, statement string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

func count(t *testing.T, pool *pgxpool.Pool, table string) int {
	t.Helper()
	var n int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatalf("count %s: %v", table, err)
	}
	return n
}

func TestTwoDatabasesDoNotSeeEachOther(t *testing.T) {
	one, other := testpg.New(t).Pool(t), testpg.New(t).Pool(t)
	exec(t, one, "CREATE TABLE thing (id int)")
	exec(t, other, "CREATE TABLE thing (id int)")
	exec(t, one, "INSERT INTO thing VALUES (1)")
	if n := count(t, other, "thing"); n != 0 {
		t.Errorf("the other database has %d rows, want 0", n)
	}
}

func TestADatabaseIsGoneAfterItsTest(t *testing.T) {
	var name string
	t.Run("inner", func(t *testing.T) {
		db := testpg.New(t)
		exec(t, db.Pool(t), "CREATE TABLE thing (id int)")
		name = db.Name
	})
	var left int
	err := testpg.New(t).Pool(t).QueryRow(t.Context(),
		"SELECT count(*) FROM pg_database WHERE datname = $1", name).Scan(&left)
	if err != nil {
		t.Fatal(err)
	}
	if left != 0 {
		t.Errorf("database %s is still there", name)
	}
}

func TestKillBackendsEndsAnOpenTransaction(t *testing.T) {
	db := testpg.New(t)
	tx, err := db.Pool(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	killed, err := db.KillBackends(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if killed != 1 {
		t.Errorf("killed %d backends, want 1", killed)
	}
	if err := tx.Commit(t.Context()); err == nil {
		t.Error("the transaction committed on a terminated backend")
	}
}

func TestARestartKeepsWhatWasCommitted(t *testing.T) {
	for _, mode := range []testpg.StopMode{testpg.StopFast, testpg.StopImmediate} {
		t.Run(string(mode), func(t *testing.T) {
			server := testpg.Start(t, testpg.Options{})
			pool := server.Database(t).Pool(t)
			exec(t, pool, "CREATE TABLE thing (id int)")
			exec(t, pool, "INSERT INTO thing VALUES (1)")
			if err := server.Restart(t.Context(), mode); err != nil {
				t.Fatal(err)
			}
			pool.Reset()
			if n := count(t, pool, "thing"); n != 1 {
				t.Errorf("%d rows after the restart, want 1", n)
			}
		})
	}
}

func TestAStoppedServerRefusesConnections(t *testing.T) {
	server := testpg.Start(t, testpg.Options{})
	if err := server.Stop(t.Context(), testpg.StopFast); err != nil {
		t.Fatal(err)
	}
	if conn, err := pgx.Connect(t.Context(), server.URL()); err == nil {
		conn.Close(t.Context())
		t.Error("a stopped server accepted a connection")
	}
}

func TestSettingsReachTheServer(t *testing.T) {
	server := testpg.Start(t, testpg.Options{Durable: true, Settings: map[string]string{"application_name": "it's"}})
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var fsync, name string
	err = conn.QueryRow(t.Context(), "SELECT current_setting('fsync'), current_setting('application_name')").Scan(&fsync, &name)
	if err != nil {
		t.Fatal(err)
	}
	if fsync != "on" || name != "it's" {
		t.Errorf("fsync %q, application_name %q, want on, it's", fsync, name)
	}
}

// commitThrough inserts a row in a transaction through the proxy and answers the error of the commit.
func commitThrough(t *testing.T, ctx context.Context, pool *pgxpool.Pool) error {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO thing VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	return tx.Commit(ctx)
}

func TestProxyCommits(t *testing.T) {
	for _, c := range []struct {
		name    string
		arm     func(*testpg.Proxy)
		fails   bool
		durable int
	}{
		{"unarmed", func(*testpg.Proxy) {}, false, 1},
		{"lost answer", func(p *testpg.Proxy) { p.LoseCommitAnswers(1) }, true, 1},
		{"swallowed answer", func(p *testpg.Proxy) { p.SwallowCommitAnswers(1) }, true, 1},
		{"cut before commit", func(p *testpg.Proxy) { p.CutBeforeCommit(1) }, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := testpg.New(t)
			direct := db.Pool(t)
			exec(t, direct, "CREATE TABLE thing (id int)")
			proxy := testpg.NewProxy(t, db.URL)
			pool := testpg.OpenPool(t, proxy.URL)
			c.arm(proxy)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			err := commitThrough(t, ctx, pool)
			if failed := err != nil; failed != c.fails {
				t.Errorf("commit answered %v, want a failure: %v", err, c.fails)
			}
			if c.fails {
				<-proxy.Lost()
				waitForNoTransaction(t, direct)
			}
			if n := count(t, direct, "thing"); n != c.durable {
				t.Errorf("%d rows, want %d", n, c.durable)
			}
			if err := commitThrough(t, t.Context(), pool); err != nil {
				t.Errorf("the commit after: %v", err)
			}
		})
	}
}

// waitForNoTransaction waits until the server has noticed that the proxied client is gone.
func waitForNoTransaction(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for {
		var open int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL`).Scan(&open)
		if err != nil {
			t.Fatal(err)
		}
		if open == 0 {
			return
		}
	}
}

func TestACutProxyBreaksConnections(t *testing.T) {
	proxy := testpg.NewProxy(t, testpg.New(t).URL)
	conn, err := pgx.Connect(t.Context(), proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	if n := proxy.Cut(); n != 1 {
		t.Errorf("cut %d connections, want 1", n)
	}
	if err := conn.Ping(t.Context()); err == nil {
		t.Error("a cut connection answered")
	}
}

func TestARefusingProxyLetsNobodyIn(t *testing.T) {
	proxy := testpg.NewProxy(t, testpg.New(t).URL)
	proxy.Refuse(true)
	_, err := pgx.Connect(t.Context(), proxy.URL)
	if connectErr := new(pgconn.ConnectError); !errors.As(err, &connectErr) {
		t.Errorf("connect answered %v, want a ConnectError", err)
	}
	proxy.Refuse(false)
	conn, err := pgx.Connect(t.Context(), proxy.URL)
	if err != nil {
		t.Fatalf("connect after: %v", err)
	}
	conn.Close(t.Context())
}

func TestARoundTripTakesItsTime(t *testing.T) {
	const roundTrip = 40 * time.Millisecond
	proxy := testpg.NewProxy(t, testpg.New(t).URL)
	conn, err := pgx.Connect(t.Context(), proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	proxy.SetRoundTrip(roundTrip)
	start := time.Now()
	if err := conn.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < roundTrip {
		t.Errorf("a ping took %v, want at least %v", took, roundTrip)
	}
}

func TestMessagesSentTogetherShareOneRoundTrip(t *testing.T) {
	const roundTrip, statements = 200 * time.Millisecond, 100
	proxy := testpg.NewProxy(t, testpg.New(t).URL)
	conn, err := pgx.Connect(t.Context(), proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	proxy.SetRoundTrip(roundTrip)
	var batch pgx.Batch
	for range statements {
		batch.Queue("SELECT 1")
	}
	start := time.Now()
	if err := conn.SendBatch(t.Context(), &batch).Close(); err != nil {
		t.Fatal(err)
	}
	// Twenty seconds if they did; a busy machine is not that slow.
	if took := time.Since(start); took > statements*roundTrip/2 {
		t.Errorf("a batch of %d took %v: its messages waited for each other", statements, took)
	}
}
