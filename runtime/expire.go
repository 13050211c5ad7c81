package runtime

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// expiredMark is the comment on a partition that is to be dropped. It survives the detach, so that a pass that was
// cut off between detach and drop is finished by the next, and tells such a table from one that a person detached
// to keep it.
const expiredMark = "idemlint: expired"

// patientDetach lets a detach wait for the transactions that are open on the table, which may take as long as a batch
// may. Nobody waits behind it: it holds and asks for no lock that an insert needs, but for one on the partition that
// no event comes to any more.
const patientDetach = "SET lock_timeout = '90s'"

// impatient is how long everything else waits for a lock, since others would queue up behind.
const impatient = "SET lock_timeout = '2s'"

// concurrentDetach is the first server version with DETACH PARTITION CONCURRENTLY.
const concurrentDetach = 140000

// create makes the partitions that the window lacks, from the oldest event that may still come to Window.Ahead from
// now. What was dropped once is not made again: its marks are gone, and an empty partition would take repeats for
// fresh events.
func (m *Maintainer) create(ctx context.Context, s *session) error {
	if m.config.Layout == Plain {
		return nil
	}
	w, now := m.config.Window, m.Now()
	partitions, err := listPartitions(ctx, s.conn, s.table)
	if err != nil {
		return err
	}
	m.mu.Lock()
	begin := m.known.floor(w, now)
	horizon := m.known.horizon
	m.mu.Unlock()
	if begin = gridFloor(begin, w.Partition); begin.Before(horizon) {
		begin = horizon
	}
	held := make([]idRange, len(partitions))
	for i, p := range partitions {
		held[i] = p.bounds
	}
	missing := missingRanges(held, begin, now.Add(w.Ahead), w.Partition)
	for _, r := range missing {
		if err := s.attach(ctx, r); err != nil {
			return err
		}
		s.upkeep.Created = append(s.upkeep.Created, partitionName(r.begin))
	}
	if len(missing) > 0 {
		m.config.Logger.InfoContext(ctx, "partitions of processed_event created",
			slog.Int("count", len(missing)), slog.Time("from", missing[0].begin), slog.Time("to", missing[len(missing)-1].end))
	}
	return nil
}

// attach makes a partition aside and attaches it: unlike CREATE TABLE … PARTITION OF, that waits for no open
// transaction of a consumer and makes none wait.
func (s *session) attach(ctx context.Context, r idRange) error {
	name := s.table.partition(partitionName(r.begin))
	err := pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL)", name, s.table.parent()))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM ('%s') TO ('%s')",
			s.table.parent(), name, firstID(r.begin), firstID(r.end)))
		return err
	})
	if err != nil {
		return fmt.Errorf("create partition %s: %w", name, err)
	}
	return nil
}

// expire finishes what an earlier pass left, and forgets what no group can get again.
func (m *Maintainer) expire(ctx context.Context, s *session) error {
	l, err := readLimit(ctx, s.conn, m.config.Now())
	if err != nil {
		return err
	}
	s.upkeep.HeldBy = l.heldBy
	if m.config.Layout == Plain {
		return m.deleteOld(ctx, s, l)
	}
	if err := m.finish(ctx, s); err != nil {
		return err
	}
	partitions, err := listPartitions(ctx, s.conn, s.table)
	if err != nil {
		return err
	}
	held := 0
	for _, p := range partitions {
		if l.known && !p.bounds.end.After(l.before) {
			if err := m.drop(ctx, s, p); err != nil {
				return err
			}
		} else if p.bounds.end.Before(m.Now().Add(-m.config.Window.Retention)) {
			held++
		}
	}
	if held > 0 {
		m.config.Logger.WarnContext(ctx, "partitions of processed_event are kept beyond the retention",
			slog.Int("count", held), slog.String("held_by", l.heldBy), slog.Time("reported_at", l.reported))
	}
	return nil
}

// limit is what the reports of all groups allow to forget.
type limit struct {
	// before is the event time before which nothing can come any more.
	before time.Time
	// skew is how far an event may have been processed before the time in its id.
	skew time.Duration
	// heldBy is the group that keeps before from being later, and reported when it was heard of last.
	heldBy   string
	reported time.Time
	// known is false if the lag of that group is unknown, and nothing may be forgotten.
	known bool
}

func readLimit(ctx context.Context, q querier, now time.Time) (limit, error) {
	var l limit
	var before *time.Time
	// Both clocks must agree that something is old.
	err := q.QueryRow(ctx, `
		SELECT consumer_group, reported_at, max(skew) OVER (),
		       CASE WHEN oldest_uncommitted IS NOT NULL
		            THEN least(least(clock_timestamp(), $1) - retention, oldest_uncommitted - redelivery) END AS bound
		FROM processed_event_group
		ORDER BY bound NULLS FIRST
		LIMIT 1`, now).Scan(&l.heldBy, &l.reported, &l.skew, &before)
	if err != nil {
		return l, fmt.Errorf("ask what may be forgotten: %w", err)
	}
	if before != nil {
		l.before, l.known = *before, true
	}
	return l, nil
}

// finish ends detaches that were cut off: a pending one takes no rows and keeps others from being detached, and a
// detached partition that carries the mark only waits to be dropped.
func (m *Maintainer) finish(ctx context.Context, s *session) error {
	partitions, err := listPartitions(ctx, s.conn, s.table)
	if err != nil {
		return err
	}
	for _, p := range partitions {
		if !p.pending {
			continue
		}
		if err := s.detach(ctx, p.name, "FINALIZE"); err != nil {
			return fmt.Errorf("finish the detach of partition %s: %w", p.name, err)
		}
	}
	left, err := s.detachedLeftovers(ctx)
	if err != nil {
		return err
	}
	for _, name := range left {
		if err := m.dropDetached(ctx, s, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) detachedLeftovers(ctx context.Context) ([]string, error) {
	rows, err := s.conn.Query(ctx, `
		SELECT c.relname
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND c.relkind = 'r' AND NOT c.relispartition
		  AND c.relname LIKE 'processed\_event\_p%' AND obj_description(c.oid, 'pg_class') = $2`,
		s.table.schema, expiredMark)
	if err != nil {
		return nil, fmt.Errorf("look for detached partitions: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("look for detached partitions: %w", err)
	}
	return names, nil
}

// drop forgets a partition. The horizon rises first and for good: whatever cuts the rest off, no event of that time
// is accepted again.
func (m *Maintainer) drop(ctx context.Context, s *session, p heldPartition) error {
	if err := s.raiseHorizon(ctx, p.bounds.end, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, fmt.Sprintf("COMMENT ON TABLE %s IS '%s'", s.table.partition(p.name), expiredMark))
		return err
	}); err != nil {
		return fmt.Errorf("mark partition %s as expired: %w", p.name, err)
	}
	if s.table.version < concurrentDetach {
		return m.dropAttached(ctx, s, p.name)
	}
	if err := s.detach(ctx, p.name, "CONCURRENTLY"); err != nil {
		return fmt.Errorf("detach partition %s: %w", p.name, err)
	}
	return m.dropDetached(ctx, s, p.name)
}

// detach begins and ends a detach, or ends one that was begun: neither may be in a transaction.
func (s *session) detach(ctx context.Context, name, how string) error {
	if _, err := s.conn.Exec(ctx, patientDetach); err != nil {
		return err
	}
	_, err := s.conn.Exec(ctx, fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s %s",
		s.table.parent(), s.table.partition(name), how))
	if err != nil {
		return err
	}
	_, err = s.conn.Exec(ctx, impatient)
	return err
}

// raiseHorizon commits a new horizon together with what also does, if it is not nil.
func (s *session) raiseHorizon(ctx context.Context, to time.Time, also func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE processed_event_horizon SET dropped_before = $1, raised_at = now()
			WHERE dropped_before < $1`, to)
		if err != nil || also == nil {
			return err
		}
		return also(tx)
	})
}

func (m *Maintainer) dropDetached(ctx context.Context, s *session, name string) error {
	if _, err := s.conn.Exec(ctx, "DROP TABLE "+s.table.partition(name)); err != nil {
		return fmt.Errorf("drop partition %s: %w", name, err)
	}
	m.noteDropped(ctx, s, name)
	return nil
}

// dropAttached is for PostgreSQL 13: a drop that takes the table from everyone for a moment, and gives up quickly
// when someone is in the way, since everyone else queues up behind it.
func (m *Maintainer) dropAttached(ctx context.Context, s *session, name string) error {
	const tries, patience, pause = 20, "100ms", 500 * time.Millisecond
	for try := 1; ; try++ {
		err := pgx.BeginFunc(ctx, s.conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+patience+"'"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "DROP TABLE "+s.table.partition(name))
			return err
		})
		if err == nil {
			m.noteDropped(ctx, s, name)
			return nil
		}
		if code, _ := sqlState(err); code != "55P03" || try == tries {
			return fmt.Errorf("drop partition %s, try %d: %w", name, try, err)
		}
		if err := pauseFor(ctx, pause); err != nil {
			return fmt.Errorf("drop partition %s: %w", name, err)
		}
	}
}

func (m *Maintainer) noteDropped(ctx context.Context, s *session, name string) {
	s.upkeep.Dropped = append(s.upkeep.Dropped, name)
	m.config.Logger.InfoContext(ctx, "partition of processed_event dropped", slog.String("partition", name))
}

// plainMargin covers the time from the check of an id to its insert: unlike a dropped partition, a deleted mark cannot
// make the insert fail. It has to exceed the time that one attempt at a batch may take.
const plainMargin = time.Hour

// deleteOld forgets marks of a plain table in transactions of their own, small enough to hold nobody up and found
// by the block range index: 19 times faster than by ranges of the key.
func (m *Maintainer) deleteOld(ctx context.Context, s *session, l limit) error {
	if !l.known {
		return nil
	}
	if err := s.raiseHorizon(ctx, l.before, nil); err != nil {
		return fmt.Errorf("raise the horizon: %w", err)
	}
	const most = 5000
	processedBefore := l.before.Add(-l.skew - plainMargin)
	for {
		began := time.Now()
		tag, err := s.conn.Exec(ctx, `DELETE FROM processed_event WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM processed_event WHERE processed_at < $1 LIMIT $2))`, processedBefore, most)
		if err != nil {
			return fmt.Errorf("delete marks of events from before %s: %w", stamp(l.before), err)
		}
		s.upkeep.Deleted += tag.RowsAffected()
		if tag.RowsAffected() < most {
			return nil
		}
		// Half of the time is the consumers'.
		if err := pauseFor(ctx, time.Since(began)); err != nil {
			return fmt.Errorf("delete marks of events from before %s: %w", stamp(l.before), err)
		}
	}
}

func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
