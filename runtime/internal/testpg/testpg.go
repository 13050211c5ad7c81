// Package testpg gives a test a PostgreSQL of its own: a database on a server that the whole test binary shares,
// or a server that the test may stop, crash and start again, and a proxy that stands between the two and breaks
// the connection where a real network would.
//
// The shared server is the one DATABASE_URL names; without it, a throw-away cluster made with the binaries found
// on the machine; without those, with binaries that embedded-postgres downloads. A cluster lives in a temporary
// directory and ends with the process that started it, however that process ends.
//
// The package is for tests only. It knows nothing of Kafka and nothing of the runtime's tables.
package testpg

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// adminTimeout bounds what the package does on a test's behalf, such as creating and dropping databases.
const adminTimeout = 60 * time.Second

// Database is an empty database that one test has for itself.
type Database struct {
	// URL is the connection string, straight to the server.
	URL string
	// Name is the database's name on the server.
	Name string

	server *Server
}

// New creates a database on the binary's shared server and drops it, with every connection to it, when the test
// ends.
func New(tb testing.TB) *Database {
	tb.Helper()
	server, err := sharedServer()
	if err != nil {
		tb.Fatalf("testpg: no PostgreSQL: %v", err)
	}
	return server.Database(tb)
}

// shared is one per process because a cluster takes a second to make and a binary has hundreds of tests. It needs
// no teardown: the cluster's keeper sees the process end.
var shared struct {
	sync.Mutex
	server *Server
}

func sharedServer() (*Server, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		return shared.server, nil
	}
	if conn := os.Getenv("DATABASE_URL"); conn != "" {
		shared.server = &Server{url: conn}
		return shared.server, nil
	}
	server, err := startServer(Options{})
	if err != nil {
		return nil, err
	}
	shared.server = server
	return server, nil
}

// Database creates a database on s and drops it when the test ends.
func (s *Server) Database(tb testing.TB) *Database {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	name := "idemlint_test_" + uuid.NewString()[:13]
	if err := s.createDatabase(ctx, name); err != nil {
		tb.Fatalf("testpg: %v", err)
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
		defer cancel()
		if s.stopped() {
			return
		}
		if err := s.admin(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
			tb.Errorf("testpg: %v", err)
		}
	})
	conn, err := withDatabase(s.url, name)
	if err != nil {
		tb.Fatalf("testpg: %v", err)
	}
	return &Database{URL: conn, Name: name, server: s}
}

// Server is the server the database is on.
func (d *Database) Server() *Server { return d.server }

// Pool opens a pool on the database and closes it when the test ends. Each option may change the configuration
// before the pool is made.
func (d *Database) Pool(tb testing.TB, options ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	return OpenPool(tb, d.URL, options...)
}

// OpenPool opens a pool on a connection string, such as a proxy's, and closes it when the test ends.
func OpenPool(tb testing.TB, conn string, options ...func(*pgxpool.Config)) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(conn)
	if err != nil {
		tb.Fatalf("testpg: parse connection string: %v", err)
	}
	for _, option := range options {
		option(config)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatalf("testpg: open pool: %v", err)
	}
	tb.Cleanup(pool.Close)
	return pool
}

// KillBackends terminates every connection to the database, idle or in a transaction, as an operator's
// pg_terminate_backend would, and answers how many there were.
func (d *Database) KillBackends(ctx context.Context) (int, error) {
	conn, err := pgx.Connect(ctx, d.server.url)
	if err != nil {
		return 0, fmt.Errorf("connect to terminate the backends of %s: %w", d.Name, err)
	}
	defer conn.Close(ctx)
	var killed int
	err = conn.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))
		FROM pg_stat_activity
		WHERE datname = $1 AND pid <> pg_backend_pid()`, d.Name).Scan(&killed)
	if err != nil {
		return 0, fmt.Errorf("terminate the backends of %s: %w", d.Name, err)
	}
	return killed, nil
}

// createDatabase copies the template's files where nothing is flushed to disk: nine times faster than the way by the
// log, which is the default from PostgreSQL 15 on and the better one on a server that others use.
func (s *Server) createDatabase(ctx context.Context, name string) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return fmt.Errorf("connect to create database %s: %w", name, err)
	}
	defer conn.Close(ctx)
	statement := "CREATE DATABASE " + pgx.Identifier{name}.Sanitize() + " TEMPLATE template0"
	if major, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), "."); s.cluster != nil && major >= "15" {
		statement += " STRATEGY file_copy"
	}
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("create database %s: %w", name, err)
	}
	return nil
}

func (s *Server) admin(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return fmt.Errorf("connect to run %q: %w", statement, err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("run %q: %w", statement, err)
	}
	return nil
}

// withDatabase points a connection string, URL or keyword/value, at another database.
func withDatabase(conn, name string) (string, error) {
	if u, err := url.Parse(conn); err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		u.Path = "/" + name
		return u.String(), nil
	}
	if _, err := pgconn.ParseConfig(conn); err != nil {
		return "", fmt.Errorf("parse connection string: %w", err)
	}
	// The last of two equal keywords wins.
	return conn + " dbname=" + name, nil
}

// withAddress points a connection string at another host and port, without TLS: a proxy has no certificate.
func withAddress(conn, host, port string) (string, error) {
	if u, err := url.Parse(conn); err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		u.Host = host + ":" + port
		query := u.Query()
		query.Set("sslmode", "disable")
		query.Del("host")
		query.Del("port")
		u.RawQuery = query.Encode()
		return u.String(), nil
	}
	if _, err := pgconn.ParseConfig(conn); err != nil {
		return "", fmt.Errorf("parse connection string: %w", err)
	}
	return conn + " host=" + host + " port=" + port + " sslmode=disable", nil
}
