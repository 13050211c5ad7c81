package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// RelayConfig configures a Relay. Brokers is required, except in Config.Relay; other
// fields have useful zero values.
type RelayConfig struct {
	// Brokers are the seed brokers, host:port.
	Brokers []string
	// KafkaOptions are further options for the Kafka client. Acks are always those of
	// all in-sync replicas; options of groups and consumers are left out.
	KafkaOptions []kgo.Opt
	// BatchSize is the largest number of messages published and then marked as sent in
	// one statement, 500 by default, at most 10,000. It bounds how many a crash
	// publishes again.
	BatchSize int
	// Interval is the time between two looks at the outbox, 100 ms by default. A
	// Relay that a consumer runs also looks when a batch of this process has emitted.
	Interval time.Duration
	// Timeout bounds one attempt to publish a message, 10 s by default.
	Timeout time.Duration
	// Retention is how long sent messages stay in the table, 24 hours by default, for
	// people to look at and for a failed record that is delivered again to be known.
	// Negative means that they are deleted when they are sent.
	Retention time.Duration
	// OnError is called for every attempt that fails, with the number of failures in a
	// row. The relay goes on.
	OnError func(attempt int, err error)
	// Logger receives what happens, slog.Default() by default.
	Logger *slog.Logger
}

func (c RelayConfig) withDefaults() RelayConfig {
	if c.BatchSize == 0 {
		c.BatchSize = 500
	}
	if c.Interval == 0 {
		c.Interval = 100 * time.Millisecond
	}
	if c.Timeout == 0 {
		c.Timeout = produceTimeout
	}
	if c.Retention == 0 {
		c.Retention = day
	}
	if c.OnError == nil {
		c.OnError = func(int, error) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func (c RelayConfig) validate() error {
	switch {
	case len(c.Brokers) == 0:
		return errors.New("Brokers is empty")
	case c.BatchSize < 1 || c.BatchSize > 10_000:
		return fmt.Errorf("BatchSize %d is not between 1 and 10,000", c.BatchSize)
	case c.Interval < time.Millisecond:
		return fmt.Errorf("Interval %s is less than a millisecond", c.Interval)
	case c.Timeout < time.Millisecond:
		return fmt.Errorf("Timeout %s is less than a millisecond", c.Timeout)
	}
	return nil
}

// A Relay publishes the messages of the outbox. Of all relays on one table one works at
// a time, held by an advisory lock of its own connection; the others stand by. A leader
// whose machine is gone is noticed by PostgreSQL within half a minute; one that is frozen
// holds the lock until it is killed.
//
// Every message of a committed transaction is published at least once, always under the
// same id. Again it is published after a crash, or a failure of the database, between the
// broker's answer and the mark in the table (so keep no locks on the table's rows), or by
// an old leader that has lost its connection unawares.
//
// # Order
//
// Messages of one topic and key are published in the order of their seq, each after
// the one before has been acknowledged by all in-sync replicas. Those without a key
// have no order.
//
// A serial number is not commit order: a transaction that took number 5 may commit
// after the one that took 6. The relay therefore remembers no position. It takes, in one
// snapshot, whatever is committed and unsent, by seq, so that number 5 is found when it
// appears, after 6. That is the right order as far as there is one: a transaction that
// has to come after another (it has waited for a lock of it, has seen its rows, or is
// the next batch of the same partition) inserts after the other's commit, takes a
// higher number, and no snapshot shows the later one alone. So a handler whose messages
// have an order with those of other partitions emits after the statement that waits or
// reads: what it emits before has its number already. Two transactions of which
// neither waited for the other have no order to keep. Waiting until no older transaction
// runs (pg_snapshot_xmin) would add nothing to that, and one long transaction anywhere
// in the database would hold up all messages.
//
// # What fails
//
// A message that the broker refuses holds up those of its topic and key, and a topic
// that is missing or forbidden those of that topic; the others go on. It is tried again
// for ever, with OnError, and nothing is skipped.
type Relay struct {
	pool *pgxpool.Pool
	cfg  RelayConfig
	wake chan struct{}

	mu    sync.Mutex
	stats RelayStats

	// Only Run's goroutine uses the rest.
	hook     seam.Hook
	producer *producer
	blocked  blockedLanes
	worked   bool      // since it has connected
	cleaned  time.Time // when nothing was left to delete
}

// RelayStats is what a relay has done since it was created.
type RelayStats struct {
	Leader  bool  // it is the one at work
	Sent    int64 // messages published and marked
	Deleted int64 // sent messages deleted after their retention
	Failed  int64 // messages that could not be published, each attempt counted
	Backlog RelayBacklog
}

// NewRelay returns a relay for the outbox_message in the search path of the pool's
// connections. It connects to nothing.
func NewRelay(pool *pgxpool.Pool, cfg RelayConfig) (*Relay, error) {
	if pool == nil {
		return nil, errors.New("configuring relay: pool is nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configuring relay: %w", err)
	}
	return &Relay{pool: pool, cfg: cfg, wake: make(chan struct{}, 1)}, nil
}

// Wake lets the relay look at the outbox now rather than after Interval. It never
// blocks. A process that emits outside of handlers calls it after its commit.
func (r *Relay) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Stats returns the counts so far.
func (r *Relay) Stats() RelayStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

func (r *Relay) count(change func(*RelayStats)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.stats)
}

// Run publishes until ctx ends and then returns nil. It returns an error at once if the
// table is not there (ErrNotMigrated) or the client cannot be configured. Any other
// failure is reported and tried again.
func (r *Relay) Run(ctx context.Context) error {
	producer, err := newProducer(r.cfg.Brokers, r.cfg.KafkaOptions)
	if err != nil {
		return fmt.Errorf("running relay: %w", err)
	}
	defer producer.close()
	r.producer, r.hook = producer, seam.From(ctx)
	failures := 0
	for {
		r.worked = false
		err := r.onConnection(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, seam.ErrCrash), errors.Is(err, ErrNotMigrated):
			return fmt.Errorf("running relay: %w", err)
		}
		if r.worked {
			failures = 0
		}
		failures++
		r.failed(failures, err)
		if pauseFor(ctx, min(r.cfg.Interval<<min(failures, 10), relayPatience)) != nil {
			return nil
		}
	}
}

const (
	// relayPatience bounds the wait before another attempt.
	relayPatience = 5 * time.Second
	// standbyInterval is how often a relay that stands by looks whether the leader is
	// gone. It asks rather than waits for the lock: a session that waits holds a
	// snapshot, and with it back what VACUUM may clean up in the whole database.
	standbyInterval = time.Second
	// relayStatementTimeout bounds each of its statements.
	relayStatementTimeout = 30 * time.Second
	// relayAnswerTimeout is how long an answer is waited for, which is longer: the server
	// may be gone without a word.
	relayAnswerTimeout = relayStatementTimeout + 5*time.Second
	// relayLock is the upper half of the advisory lock of an outbox; the lower half is
	// the table's oid.
	relayLock int64 = 0x69646f62 // "idob"
)

func (r *Relay) failed(attempt int, err error) {
	r.cfg.Logger.Warn("outbox not relayed; trying again", "attempt", attempt, "error", err)
	r.cfg.OnError(attempt, err)
}

// onConnection stands by and then leads until its connection fails or ctx ends.
func (r *Relay) onConnection(ctx context.Context) error {
	conn, err := dial(ctx, r.pool)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer func() {
		r.count(func(s *RelayStats) { s.Leader, s.Backlog = false, RelayBacklog{} })
		closeConn(ctx, conn) // gives the lock back
	}()
	box, err := setUpRelay(ctx, conn)
	if err != nil {
		return err
	}
	for {
		leader, err := tryRelayLock(ctx, conn, box)
		if err != nil {
			return err
		}
		if leader {
			break
		}
		r.worked = true
		if err := pauseFor(ctx, standbyInterval); err != nil {
			return err
		}
	}
	r.count(func(s *RelayStats) { s.Leader = true })
	r.blocked = blockedLanes{}
	return r.lead(ctx, &relaySession{relay: r, conn: conn, box: box})
}

// relaySettings have the server notice within half a minute that the machine of a leader
// is gone, or the way to it. Its own default is two hours, and until then the lock would
// be held and nothing published.
const relaySettings = `SET lock_timeout = 0; SET synchronous_commit = on; SET statement_timeout = %d;
SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 4; SET tcp_user_timeout = 30000`

func setUpRelay(ctx context.Context, conn *pgx.Conn) (outbox, error) {
	ctx, cancel := context.WithTimeout(ctx, relayAnswerTimeout)
	defer cancel()
	if _, err := conn.Exec(ctx, fmt.Sprintf(relaySettings, relayStatementTimeout.Milliseconds())); err != nil {
		return outbox{}, fmt.Errorf("setting up the connection: %w", err)
	}
	return findOutbox(ctx, conn)
}

func tryRelayLock(ctx context.Context, conn *pgx.Conn, box outbox) (leader bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, relayAnswerTimeout)
	defer cancel()
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", relayLock<<32|int64(box.oid)).Scan(&leader)
	if err != nil {
		return false, fmt.Errorf("trying the leader lock: %w", err)
	}
	return leader, nil
}

// lead publishes until something fails that is no message's own failure.
func (r *Relay) lead(ctx context.Context, s *relaySession) error {
	for {
		if err := s.weigh(ctx); err != nil {
			return err
		}
		more, err := s.pass(ctx)
		if err != nil {
			return err
		}
		tidying, err := s.tidy(ctx)
		if err != nil {
			return err
		}
		r.worked = true
		if more || tidying {
			continue
		}
		// Reading takes long when much is blocked; nine tenths of the time are others'.
		timer := time.NewTimer(max(r.cfg.Interval, 9*s.reading))
		select {
		case <-r.wake:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		timer.Stop()
	}
}

func (r *Relay) step(s seam.Step) error {
	if r.hook == nil {
		return nil
	}
	if err := r.hook(s); err != nil {
		return fmt.Errorf("at step %s: %w", s, err)
	}
	return nil
}

// An outbox is where the table is.
type outbox struct {
	oid   uint32
	table string
}

func findOutbox(ctx context.Context, q querier) (outbox, error) {
	var box outbox
	var schema string
	err := q.QueryRow(ctx, `SELECT c.oid, n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.oid = to_regclass($1)`, outboxTable).Scan(&box.oid, &schema)
	if errors.Is(err, pgx.ErrNoRows) {
		return box, fmt.Errorf("%w: %s is not in the search path", ErrNotMigrated, outboxTable)
	}
	if err != nil {
		return box, fmt.Errorf("looking for %s: %w", outboxTable, err)
	}
	box.table = qualified(schema, outboxTable)
	return box, nil
}

// relayConfig fills in what a relay has in common with its consumer.
func (c *Consumer) relayConfig(cfg RelayConfig) RelayConfig {
	if len(cfg.Brokers) == 0 {
		cfg.Brokers = c.cfg.Brokers
	}
	if cfg.KafkaOptions == nil {
		cfg.KafkaOptions = c.cfg.KafkaOptions
	}
	if cfg.Logger == nil {
		cfg.Logger = c.cfg.Logger
	}
	also := cfg.OnError
	cfg.OnError = func(attempt int, err error) {
		if attempt == 1 || repeats(attempt) {
			c.alarmLater(Alarm{Kind: AlarmOutbox, Attempt: attempt, Err: err})
		}
		if also != nil {
			also(attempt, err)
		}
	}
	return cfg
}

// wakeRelay lets the relay know of messages that were committed, if there is one here.
func (c *Consumer) wakeRelay() {
	if c.relay != nil {
		c.relay.Wake()
	}
}

// runRelay runs the relay, if there is one here, and ends the consumer's Run if that
// cannot work.
func (c *Consumer) runRelay(ctx context.Context) {
	if c.relay == nil {
		return
	}
	if err := c.relay.Run(ctx); err != nil {
		c.fail(err)
	}
}
