package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// OldestUncommitted answers the time of the oldest event that an uncommitted offset of the whole consumer group may
// still bring, or any earlier time: not only of the partitions that this process holds. A group without any lag
// answers the present. It answers false while that is unknown; nothing is dropped then that was not known to be
// droppable before.
type OldestUncommitted func(ctx context.Context) (oldest time.Time, ok bool, err error)

// MaintainerConfig configures a Maintainer. Group is required; other fields have useful zero values.
type MaintainerConfig struct {
	// Group is the consumer group whose marks are kept.
	Group string
	// Layout is the layout that the table must have.
	Layout Layout
	// Window is the span of time to keep partitions, or marks, for.
	Window Window
	// OldestUncommitted bounds what may be forgotten; without it nothing ever is, in this database, by any
	// group's maintainer.
	OldestUncommitted OldestUncommitted
	// Interval is the time between two passes of Run, 10 minutes by default.
	Interval time.Duration
	// OnError is called for every pass of Run that fails, with the number of failures in a row. Run goes on.
	OnError func(attempt int, err error)
	// Logger receives what is made and dropped, and what holds old marks back; slog.Default() by default.
	Logger *slog.Logger
	// Now is the machine's clock, time.Now by default. The database's clock leads: marks are dropped only when
	// both agree that they are old, so that one wrong clock forgets nothing.
	Now func() time.Time
}

func (c MaintainerConfig) withDefaults() MaintainerConfig {
	c.Window = c.Window.withDefaults()
	if c.Interval == 0 {
		c.Interval = 10 * time.Minute
	}
	if c.OnError == nil {
		c.OnError = func(int, error) {}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// A Maintainer makes the partitions of processed_event ahead of time and drops those whose events can no longer
// come; in the plain layout it deletes such marks. Every consumer runs one, and an advisory lock lets one of them
// work at a time. It opens a connection of its own for each pass and takes none from the pool.
//
// It needs to own the table, and a direct connection or a pooler in session mode.
type Maintainer struct {
	config MaintainerConfig
	pool   *pgxpool.Pool

	mu    sync.Mutex
	known knowledge
}

// knowledge is what the last look at the database told.
type knowledge struct {
	at      time.Time // this machine's clock at the look, with its monotonic reading
	server  time.Time // the database's clock at the look; zero before the first
	horizon time.Time // marks of events before it are gone or going; zero if none are
	oldest  time.Time // of the group's uncommitted events; zero if unknown
	ranges  []idRange // what partitions hold, ascending
	table   tableInfo
}

// MaintainerStatus is what a Maintainer knows, for health checks and metrics.
type MaintainerStatus struct {
	// AheadUntil is the time up to which partitions exist without a gap from now on; zero if there is none for
	// now, or in the plain layout.
	AheadUntil time.Time
	// Partitions is how many there are.
	Partitions int
	// Horizon is the time before which marks are dropped, zero if none are.
	Horizon time.Time
	// OldestUncommitted is what the group reported last, zero if unknown.
	OldestUncommitted time.Time
	// Refreshed is when the database was asked last, zero for never.
	Refreshed time.Time
}

// Upkeep is what a pass has done.
type Upkeep struct {
	// Leader is false if another maintainer was at work, and nothing was done.
	Leader bool
	// Created and Dropped are names of partitions.
	Created, Dropped []string
	// Deleted is how many marks were deleted from a plain table.
	Deleted int64
	// HeldBy is the group whose lag, retention or missing report is why nothing younger was dropped.
	HeldBy string
}

// NewMaintainer makes a maintainer for the table in the search path of the pool's connections. It does not connect.
func NewMaintainer(pool *pgxpool.Pool, config MaintainerConfig) (*Maintainer, error) {
	config = config.withDefaults()
	if config.Group == "" {
		return nil, errors.New("maintainer: Group is empty")
	}
	if config.Layout != Partitioned && config.Layout != Plain {
		return nil, fmt.Errorf("maintainer: unknown %v", config.Layout)
	}
	if config.Interval < 0 {
		return nil, fmt.Errorf("maintainer: Interval %v is negative", config.Interval)
	}
	if err := config.Window.Validate(); err != nil {
		return nil, fmt.Errorf("maintainer: %w", err)
	}
	return &Maintainer{config: config, pool: pool}, nil
}

// Now is the database's clock as of the last look at it, carried on by this machine's monotonic clock, so that a
// step of the wall clock does not move it. Before the first look it is the machine's clock.
func (m *Maintainer) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known.server.IsZero() {
		return m.config.Now()
	}
	return m.known.server.Add(time.Since(m.known.at))
}

// Check is Window.Check with what the maintainer knows: it also accepts events that are older than the retention
// while the group's lag keeps their marks (but none from more than 400 partitions ago), and refuses those whose marks
// are dropped already. Against a drop that
// happened since the last look it cannot help: the insert then finds no partition, and Refresh lets Check know.
//
// In the plain layout it accepts ids of any version and checks the time of those that tell it.
func (m *Maintainer) Check(id uuid.UUID, now time.Time) error { return m.gate(now).check(id) }

// gate returns what checks ids as Check does at the time now, by what is known by then.
func (m *Maintainer) gate(now time.Time) gate {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.config.Window.gate(now, m.known.floor(m.config.Window, now))
	g.anyVersion = m.config.Layout == Plain
	return g
}

// maxBackfill is how many partitions into the past lag may reach. Without it, one lagging record with a timestamp of
// 1970 would ask for twenty thousand.
const maxBackfill = 400

// floor is the time from which on events are accepted.
func (k knowledge) floor(w Window, now time.Time) time.Time {
	floor := now.Add(-w.Retention)
	if !k.oldest.IsZero() {
		lagging := k.oldest.Add(-w.Redelivery)
		if farthest := now.Add(-maxBackfill * w.Partition); lagging.Before(farthest) {
			lagging = farthest
		}
		if lagging.Before(floor) {
			floor = lagging
		}
	}
	if k.horizon.After(floor) {
		floor = k.horizon
	}
	return floor
}

// table answers where the table was at the last look.
func (m *Maintainer) table() tableInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known.table
}

// Status answers what the last look at the database told.
func (m *Maintainer) Status() MaintainerStatus {
	now := m.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	return MaintainerStatus{
		AheadUntil:        coveredUntil(m.known.ranges, now),
		Partitions:        len(m.known.ranges),
		Horizon:           m.known.horizon,
		OldestUncommitted: m.known.oldest,
		Refreshed:         m.known.server,
	}
}

// Prepare makes sure that every event of the window has a partition to be marked in, and returns when it has. A
// consumer calls it before its first record. It also reports the group, so that no other group's maintainer drops
// what this one may still get. The table is not there: ErrNotMigrated; it could not deduplicate: ErrTableUnfit.
func (m *Maintainer) Prepare(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := m.session(ctx, m.create)
		if err != nil {
			return fmt.Errorf("prepare processed_event: %w", err)
		}
		if m.complete() {
			return nil
		}
		select { // another maintainer is at it
		case <-ctx.Done():
			return fmt.Errorf("prepare processed_event: partitions are missing, and another session holds the advisory lock of the one that makes them: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// complete tells whether, as far as is known, partitions cover the window and a quarter of the time ahead.
func (m *Maintainer) complete() bool {
	if m.config.Layout == Plain {
		return true
	}
	now := m.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	end := coveredUntil(m.known.ranges, m.known.floor(m.config.Window, now))
	return end.After(now.Add(max(m.config.Window.Skew, m.config.Window.Ahead/4)))
}

// Maintain runs one pass: report the group, make partitions ahead, finish a detach that was cut off, drop what has
// expired. A pass that finds another maintainer at work only reports.
func (m *Maintainer) Maintain(ctx context.Context) (Upkeep, error) {
	var lagErr error
	upkeep, err := m.session(ctx, func(ctx context.Context, s *session) error {
		lagErr = s.lagErr
		if err := m.create(ctx, s); err != nil {
			return err
		}
		return m.expire(ctx, s)
	})
	if err == nil && !upkeep.Leader && !m.complete() {
		err = errors.New("another maintainer is at work, but the partitions are about to run out")
	}
	if err := errors.Join(err, lagErr); err != nil {
		return upkeep, fmt.Errorf("maintain processed_event: %w", err)
	}
	return upkeep, nil
}

// Refresh looks at the database again without changing it, for Check and Status.
func (m *Maintainer) Refresh(ctx context.Context) error {
	if err := m.refresh(ctx, m.pool); err != nil {
		return fmt.Errorf("refresh knowledge of processed_event: %w", err)
	}
	return nil
}

// passTimeout ends a pass whose server has gone silent. What it was at is finished by the next one.
const passTimeout = 30 * time.Minute

// Run runs a pass at once and then one each Interval, until ctx ends; then it returns nil. A failed pass is
// reported, logged and tried again after a few seconds, later and later.
func (m *Maintainer) Run(ctx context.Context) error {
	failures := 0
	for {
		pass, cancel := context.WithTimeout(ctx, passTimeout)
		_, err := m.Maintain(pass)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		wait := m.config.Interval
		if err != nil {
			failures++
			wait = min(wait, 2*time.Second<<min(failures, 10))
			m.config.Logger.ErrorContext(ctx, "upkeep of processed_event failed",
				slog.Int("attempt", failures), slog.Any("error", err))
			m.config.OnError(failures, err)
		} else {
			failures = 0
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// refresh reads the clock, the horizon and the partitions.
func (m *Maintainer) refresh(ctx context.Context, q querier) error {
	table, err := describeTable(ctx, q, m.config.Layout)
	if err != nil {
		return err
	}
	return m.look(ctx, q, table)
}

func (m *Maintainer) look(ctx context.Context, q querier, table tableInfo) error {
	var known knowledge
	var horizon, oldest *time.Time
	var horizons int
	err := q.QueryRow(ctx, `
		SELECT clock_timestamp(),
		       (SELECT count(*) FROM processed_event_horizon),
		       (SELECT nullif(dropped_before, '-infinity') FROM processed_event_horizon),
		       (SELECT oldest_uncommitted FROM processed_event_group WHERE consumer_group = $1)`,
		m.config.Group).Scan(&known.server, &horizons, &horizon, &oldest)
	if err != nil {
		return fmt.Errorf("read the horizon: %w", err)
	}
	if horizons == 0 {
		return fmt.Errorf("%w: processed_event_horizon has lost its row, which told what is dropped", ErrTableUnfit)
	}
	known.at, known.table = time.Now(), table
	if horizon != nil {
		known.horizon = *horizon
	}
	if oldest != nil {
		known.oldest = *oldest
	}
	if m.config.Layout == Partitioned {
		partitions, err := listPartitions(ctx, q, table)
		if err != nil {
			return err
		}
		known.ranges = attachedRanges(partitions)
	}
	m.mu.Lock()
	m.known = known
	m.mu.Unlock()
	return nil
}

// session is the connection of one pass and what it found.
type session struct {
	conn   *pgx.Conn
	table  tableInfo
	lagErr error // why the group's lag could not be told, which is no reason not to make partitions
	upkeep Upkeep
}

// maintenanceLock is the upper half of the advisory lock of a table's upkeep; the lower half is the table's oid.
const maintenanceLock int64 = 0x69646d70 // "idmp"

// leaderLock is the key of the advisory lock of the table's upkeep.
func (s *session) leaderLock() int64 { return maintenanceLock<<32 | int64(s.table.oid) }

// session reports the group and, if no other maintainer is at work, runs work on a connection of its own that
// holds the leader lock; then it looks again at what there is.
func (m *Maintainer) session(ctx context.Context, work func(context.Context, *session) error) (_ Upkeep, err error) {
	conn, err := m.connect(ctx)
	if err != nil {
		return Upkeep{}, err
	}
	s := &session{conn: conn}
	defer func() {
		// The pass's own context may have ended. Closing gives the lock back, also when giving it back by name fails,
		// but only once the server has noticed: until then the next pass would find it taken.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if s.upkeep.Leader {
			_, _ = conn.Exec(closing, "SELECT pg_advisory_unlock($1)", s.leaderLock())
		}
		_ = conn.Close(closing)
	}()
	if s.table, err = describeTable(ctx, conn, m.config.Layout); err != nil {
		return Upkeep{}, err
	}
	if s.lagErr, err = m.report(ctx, conn); err != nil {
		return Upkeep{}, err
	}
	if err := m.look(ctx, conn, s.table); err != nil {
		return Upkeep{}, err
	}
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", s.leaderLock()).Scan(&s.upkeep.Leader)
	if err != nil {
		return Upkeep{}, fmt.Errorf("try the leader lock: %w", err)
	}
	if !s.upkeep.Leader {
		return s.upkeep, nil
	}
	// Another leader may have worked between the look and the lock.
	if err := m.look(ctx, conn, s.table); err != nil {
		return s.upkeep, err
	}
	workErr := work(ctx, s)
	return s.upkeep, errors.Join(workErr, m.look(ctx, conn, s.table))
}

// connect opens a connection as the pool would. Upkeep waits for locks only briefly, as everything else queues up
// behind a waiting lock, and may otherwise take its time.
func (m *Maintainer) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := dial(ctx, m.pool)
	if err != nil {
		return nil, fmt.Errorf("connect for upkeep: %w", err)
	}
	_, err = conn.Exec(ctx, impatient+"; SET statement_timeout = 0;"+
		" SET idle_in_transaction_session_timeout = '60s'; SET timezone = 'UTC'")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up a connection for upkeep: %w", err), conn.Close(ctx))
	}
	return conn, nil
}

// dial opens a connection as the pool would, but takes none from it.
func dial(ctx context.Context, pool *pgxpool.Pool) (*pgx.Conn, error) {
	config := pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, fmt.Errorf("prepare a connection: %w", err)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	if config.AfterConnect != nil {
		if err := config.AfterConnect(ctx, conn); err != nil {
			return nil, errors.Join(fmt.Errorf("set up a connection: %w", err), conn.Close(ctx))
		}
	}
	return conn, nil
}

// report tells all maintainers what the group may still get. What is unknown now does not replace what was known:
// committed offsets only rise.
func (m *Maintainer) report(ctx context.Context, q querier) (lagErr, err error) {
	var oldest *time.Time
	if m.config.OldestUncommitted != nil {
		at, ok, err := m.config.OldestUncommitted(ctx)
		if err != nil {
			lagErr = fmt.Errorf("ask for the oldest uncommitted event of group %s: %w", m.config.Group, err)
		} else if ok {
			oldest = &at
		}
	}
	w := m.config.Window
	_, err = q.Exec(ctx, `
		INSERT INTO processed_event_group AS g (consumer_group, retention, redelivery, skew, oldest_uncommitted)
		VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (consumer_group) DO UPDATE SET
			retention = excluded.retention, redelivery = excluded.redelivery, skew = excluded.skew,
			oldest_uncommitted = coalesce(excluded.oldest_uncommitted, g.oldest_uncommitted),
			reported_at = now()`,
		m.config.Group, w.Retention, w.Redelivery, w.Skew, oldest)
	if err != nil {
		return lagErr, fmt.Errorf("report group %s: %w", m.config.Group, err)
	}
	return lagErr, nil
}

// ForgetGroup removes a group that is gone for good and would otherwise hold back old marks of all groups for
// ever. It answers false if there was no such group. A group that is still alive reports itself again.
func ForgetGroup(ctx context.Context, pool *pgxpool.Pool, group string) (bool, error) {
	tag, err := pool.Exec(ctx, "DELETE FROM processed_event_group WHERE consumer_group = $1", group)
	if err != nil {
		return false, fmt.Errorf("forget group %s: %w", group, err)
	}
	return tag.RowsAffected() > 0, nil
}
