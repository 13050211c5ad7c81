package testpg

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// startTimeout is how long a server may take until it answers, recovery after a crash included.
const startTimeout = 60 * time.Second

// Options shape a server of a test's own. The zero value is a fast one: nothing is flushed to disk, since the
// machine does not crash in a test, only processes do.
type Options struct {
	// Durable keeps fsync and full page writes on, as a benchmark needs.
	Durable bool
	// Settings are further server parameters, such as "lc_messages".
	Settings map[string]string
}

// StopMode is how a server ends, in pg_ctl's words.
type StopMode string

const (
	// StopFast rolls back what is open and shuts down in order.
	StopFast StopMode = "fast"
	// StopImmediate drops everything at once, as a crash does; the next start recovers from the log.
	StopImmediate StopMode = "immediate"
)

// ErrForeignServer is the answer of Stop and Start for a server that this process did not start.
var ErrForeignServer = errors.New("the server was not started by this process")

// Server is a PostgreSQL server.
type Server struct {
	url     string
	cluster *cluster // nil for a server that DATABASE_URL names

	mu      sync.Mutex
	running bool
}

// cluster is what a server keeps over restarts.
type cluster struct {
	binaries string
	dir      string
	port     int
	user     *credential
	keeper   *keeper
}

// Start makes a server of the test's own, which it may stop and start again, and removes it when the test ends.
// It never uses DATABASE_URL.
func Start(tb testing.TB, options Options) *Server {
	tb.Helper()
	server, err := startServer(options)
	if err != nil {
		tb.Fatalf("testpg: %v", err)
	}
	tb.Cleanup(func() {
		if err := server.remove(); err != nil {
			tb.Errorf("testpg: %v", err)
		}
	})
	return server
}

// Run makes a server outside of a test. remove stops it and leaves nothing of it; so does the end of the process.
func Run(options Options) (server *Server, remove func() error, err error) {
	if server, err = startServer(options); err != nil {
		return nil, nil, fmt.Errorf("testpg: %w", err)
	}
	return server, server.remove, nil
}

func (s *Server) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	err := s.Stop(ctx, StopImmediate)
	s.cluster.keeper.release()
	return err
}

// URL is the connection string of the server's maintenance database.
func (s *Server) URL() string { return s.url }

func startServer(options Options) (server *Server, err error) {
	user, err := serverUser()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(temporaryRoot(user), "testpg-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the cluster: %w", err)
	}
	keeper, err := startKeeper(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	defer func() {
		if err != nil {
			keeper.release()
		}
	}()
	binaries, err := findBinaries(dir)
	if err != nil {
		return nil, err
	}
	if err := user.own(dir); err != nil {
		return nil, err
	}
	c := &cluster{binaries: binaries, dir: dir, user: user, keeper: keeper}
	password := uuid.NewString()
	if err := c.init(password, options); err != nil {
		return nil, err
	}
	return c.startOnFreePort(password)
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }
func (c *cluster) log() string  { return filepath.Join(c.dir, "log") }

// init makes the cluster's files.
func (c *cluster) init(password string, options Options) error {
	passwordFile := filepath.Join(c.dir, "password")
	if err := os.WriteFile(passwordFile, []byte(password), 0o600); err != nil {
		return fmt.Errorf("write the password file: %w", err)
	}
	if err := c.user.own(passwordFile); err != nil {
		return err
	}
	cmd := c.command(context.Background(), "initdb",
		"--pgdata", c.data(), "--username", "postgres", "--pwfile", passwordFile,
		// Nobody else on the machine gets in, and no time goes into deriving keys.
		"--auth", "password", "--encoding", "UTF8", "--no-locale", "--no-sync")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run initdb: %w\n%s", err, out)
	}
	return c.configure(options)
}

// configure appends to postgresql.conf, where the last of two equal settings wins.
func (c *cluster) configure(options Options) error {
	settings := map[string]string{
		"listen_addresses":        "127.0.0.1",
		"unix_socket_directories": "",
		// Tests that run side by side have a pool for each consumer, and on a busy machine
		// those of the ones that have ended linger.
		"max_connections": "500",
	}
	if !options.Durable {
		settings["fsync"] = "off"
		settings["full_page_writes"] = "off"
	}
	for name, value := range options.Settings {
		settings[name] = value
	}
	var lines strings.Builder
	for name, value := range settings {
		fmt.Fprintf(&lines, "%s = '%s'\n", name, strings.ReplaceAll(value, "'", "''"))
	}
	path := filepath.Join(c.data(), "postgresql.conf")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("configure the cluster: %w", err)
	}
	_, err = file.WriteString(lines.String())
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("configure the cluster: %w", err)
	}
	return nil
}

func (c *cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.binaries, program), args...)
	cmd.Dir = c.dir
	c.user.run(cmd)
	return cmd
}

// startOnFreePort tries again when another process took the port between the choice and its use.
func (c *cluster) startOnFreePort(password string) (*Server, error) {
	var failures []error
	for range 5 {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		c.port = port
		s := &Server{
			url:     fmt.Sprintf("postgres://postgres:%s@127.0.0.1:%d/postgres?sslmode=disable", password, port),
			cluster: c,
		}
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		err = s.Start(ctx)
		cancel()
		if err == nil {
			return s, nil
		}
		failures = append(failures, err)
	}
	return nil, fmt.Errorf("start the cluster: %w", errors.Join(failures...))
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

// Start starts a stopped server on the port it had and returns once it answers.
func (s *Server) Start(ctx context.Context) error {
	if s.cluster == nil {
		return fmt.Errorf("start server: %w", ErrForeignServer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return errors.New("start server: it is running")
	}
	c := s.cluster
	// pg_ctl's own output is not captured through a pipe: the server would inherit it and hold it open.
	cmd := c.command(ctx, "pg_ctl", "start", "--wait", "--silent", "--pgdata", c.data(), "--log", c.log(),
		"--timeout", strconv.Itoa(int(startTimeout.Seconds())), "--options", fmt.Sprintf("-p %d", c.port))
	if err := cmd.Run(); err != nil {
		log, readErr := os.ReadFile(c.log())
		return errors.Join(fmt.Errorf("start server: %w\n%s", err, log), readErr)
	}
	s.running = true
	return nil
}

// Stop stops the server and returns when its process is gone. A stopped server stays as it is.
func (s *Server) Stop(ctx context.Context, mode StopMode) error {
	if s.cluster == nil {
		return fmt.Errorf("stop server: %w", ErrForeignServer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return nil
	}
	c := s.cluster
	cmd := c.command(ctx, "pg_ctl", "stop", "--wait", "--silent", "--pgdata", c.data(), "--mode", string(mode))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("stop server: %w\n%s", err, out)
	}
	s.running = false
	return nil
}

// Restart is Stop and Start.
func (s *Server) Restart(ctx context.Context, mode StopMode) error {
	if err := s.Stop(ctx, mode); err != nil {
		return err
	}
	return s.Start(ctx)
}

func (s *Server) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster != nil && !s.running
}
