package runtime

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

var (
	// ErrNotMigrated says that the tables of the runtime are not in the search path: see Migrate.
	ErrNotMigrated = errors.New("the tables of the runtime do not exist")
	// ErrTableUnfit says that processed_event exists but would let repeats through, or cannot be kept up: its
	// key is not (event_id, consumer_group), it is partitioned by something other than ranges of event_id, it has a
	// DEFAULT partition, or it is unlogged or temporary.
	ErrTableUnfit = errors.New("processed_event is unfit")
)

// tableInfo is where the table is.
type tableInfo struct {
	oid        uint32
	schema     string
	version    int    // server_version_num
	quarantine string // schema of quarantined_event, empty if there is none
	intents    string // schema of call_intent, empty if there is none
	outbox     string // schema of outbox_message, likewise
}

func (t tableInfo) parent() string { return pgx.Identifier{t.schema, "processed_event"}.Sanitize() }

func (t tableInfo) partition(name string) string { return pgx.Identifier{t.schema, name}.Sanitize() }

// describeTable finds processed_event in the search path and refuses one that does not deduplicate, such as the
// one found in guides whose key holds the time of processing.
func describeTable(ctx context.Context, q querier, layout Layout) (tableInfo, error) {
	var t tableInfo
	var kind, strategy string
	var byEventID, hasDefault, keyed, lasting bool
	err := q.QueryRow(ctx, `
		SELECT c.oid, n.nspname, current_setting('server_version_num')::int, c.relkind::text,
		       coalesce(p.partstrat::text, ''),
		       coalesce(p.partnatts = 1 AND p.partattrs[0] = (
		           SELECT attnum FROM pg_attribute WHERE attrelid = c.oid AND attname = 'event_id'), false),
		       coalesce(p.partdefid <> 0, false),
		       EXISTS (
		           SELECT FROM pg_index i
		           WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL
		             AND i.indimmediate AND i.indexprs IS NULL
		             AND (SELECT array_agg(a.attname::text ORDER BY a.attname)
		                  FROM generate_series(0, i.indnkeyatts - 1) k
		                  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[k])
		                 = ARRAY['consumer_group', 'event_id']),
		       c.relpersistence = 'p' AND NOT EXISTS (
		           SELECT FROM pg_inherits h JOIN pg_class part ON part.oid = h.inhrelid
		           WHERE h.inhparent = c.oid AND part.relpersistence <> 'p'),
		       coalesce((SELECT qn.nspname FROM pg_class q JOIN pg_namespace qn ON qn.oid = q.relnamespace
		                 WHERE q.oid = to_regclass('quarantined_event')), ''),
		       coalesce((SELECT bn.nspname FROM pg_class b JOIN pg_namespace bn ON bn.oid = b.relnamespace
		                 WHERE b.oid = to_regclass('outbox_message')), ''),
		       coalesce((SELECT cn.nspname FROM pg_class i JOIN pg_namespace cn ON cn.oid = i.relnamespace
		                 WHERE i.oid = to_regclass('call_intent')), '')
		FROM pg_class c
		JOIN pg_namespace n ON n.oid = c.relnamespace
		LEFT JOIN pg_partitioned_table p ON p.partrelid = c.oid
		WHERE c.oid = to_regclass('processed_event')`).
		Scan(&t.oid, &t.schema, &t.version, &kind, &strategy, &byEventID, &hasDefault, &keyed, &lasting, &t.quarantine, &t.outbox, &t.intents)
	if errors.Is(err, pgx.ErrNoRows) {
		return t, fmt.Errorf("%w: processed_event is not in the search path", ErrNotMigrated)
	}
	if err != nil {
		return t, fmt.Errorf("describe processed_event: %w", err)
	}
	if !keyed {
		return t, fmt.Errorf("%w: no unique index on exactly (event_id, consumer_group)", ErrTableUnfit)
	}
	if !lasting {
		return t, fmt.Errorf("%w: it or a partition is unlogged or temporary, and empty after a crash", ErrTableUnfit)
	}
	if (kind == "p") != (layout == Partitioned) {
		return t, fmt.Errorf("%w: it is not %v", ErrLayoutMismatch, layout)
	}
	if layout == Partitioned && (strategy != "r" || !byEventID) {
		return t, fmt.Errorf("%w: it is not partitioned by ranges of event_id", ErrTableUnfit)
	}
	if hasDefault {
		return t, fmt.Errorf("%w: a DEFAULT partition keeps partitions from being made and detached", ErrTableUnfit)
	}
	return t, nil
}

// idRange is the event times, from begin to before end, that a partition holds.
type idRange struct{ begin, end time.Time }

// heldPartition is a partition as the catalog has it.
type heldPartition struct {
	name    string
	bounds  idRange
	pending bool // a concurrent detach was begun and not finished
}

func listPartitions(ctx context.Context, q querier, table tableInfo) ([]heldPartition, error) {
	// inhdetachpending exists from PostgreSQL 14 on.
	rows, err := q.Query(ctx, `
		SELECT c.relname, pg_get_expr(c.relpartbound, c.oid),
		       coalesce((to_jsonb(i)->>'inhdetachpending')::boolean, false)
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
		WHERE i.inhparent = $1`, table.oid)
	if err != nil {
		return nil, fmt.Errorf("list partitions: %w", err)
	}
	var partitions []heldPartition
	var p heldPartition
	var bound string
	_, err = pgx.ForEachRow(rows, []any{&p.name, &bound, &p.pending}, func() (err error) {
		p.bounds, err = parseBound(bound)
		partitions = append(partitions, p)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list partitions: %w", err)
	}
	slices.SortFunc(partitions, func(a, b heldPartition) int { return a.bounds.begin.Compare(b.bounds.begin) })
	return partitions, nil
}

var rangeBound = regexp.MustCompile(
	`^FOR VALUES FROM \((MINVALUE|'[0-9a-f-]{36}')\) TO \((MAXVALUE|'[0-9a-f-]{36}')\)$`)

// parseBound reads a range partition's bound as pg_get_expr prints it. A bound inside a millisecond is widened to
// the whole of it: what counts is where no other partition fits.
func parseBound(bound string) (idRange, error) {
	parts := rangeBound.FindStringSubmatch(bound)
	if parts == nil {
		return idRange{}, fmt.Errorf("partition bound %q is no range of event ids", bound)
	}
	var begin, end uuid.UUID
	var err error
	if parts[1] != "MINVALUE" {
		if begin, err = uuid.Parse(parts[1][1:37]); err != nil {
			return idRange{}, fmt.Errorf("partition bound %q: %w", bound, err)
		}
	}
	if parts[2] == "MAXVALUE" {
		end = uuid.Max
	} else if end, err = uuid.Parse(parts[2][1:37]); err != nil {
		return idRange{}, fmt.Errorf("partition bound %q: %w", bound, err)
	}
	r := idRange{timeOf(begin), timeOf(end)}
	if end != firstID(r.end) {
		r.end = r.end.Add(time.Millisecond)
	}
	return r, nil
}

// attachedRanges are the ranges that take rows: a partition whose detach is pending does not.
func attachedRanges(partitions []heldPartition) []idRange {
	var ranges []idRange
	for _, p := range partitions {
		if !p.pending {
			ranges = append(ranges, p.bounds)
		}
	}
	return ranges
}

// coveredUntil answers the end of the gapless stretch of ascending ranges that holds from, or the zero time.
func coveredUntil(ranges []idRange, from time.Time) time.Time {
	var end time.Time
	for _, r := range ranges {
		switch {
		case end.IsZero() && !r.begin.After(from) && r.end.After(from):
			end = r.end
		case !end.IsZero() && !r.begin.After(end) && r.end.After(end):
			end = r.end
		}
	}
	return end
}

// missingRanges answers the ranges of at most width, cut at multiples of width since 1970 in UTC, that are not held
// and needed so that everything from begin to end is. held ascends.
func missingRanges(held []idRange, begin, end time.Time, width time.Duration) []idRange {
	var missing []idRange
	at := begin
	for at.Before(end) {
		gridEnd := gridFloor(at, width).Add(width)
		next := idRange{at, gridEnd}
		blocked := false
		for _, h := range held {
			if !h.begin.After(at) && h.end.After(at) {
				at, blocked = h.end, true
				break
			}
			if h.begin.After(at) && h.begin.Before(next.end) {
				next.end = h.begin
				break
			}
		}
		if !blocked {
			missing = append(missing, next)
			at = next.end
		}
	}
	return missing
}

// gridFloor rounds down to a multiple of width since 1970. (Time.Truncate counts from the year 1.)
func gridFloor(t time.Time, width time.Duration) time.Time {
	ms, step := t.UnixMilli(), width.Milliseconds()
	rest := ms % step
	if rest < 0 {
		rest += step
	}
	return time.UnixMilli(ms - rest).UTC()
}

// partitionName names a partition after the time at which it begins, which no other partition shares.
func partitionName(begin time.Time) string {
	begin = begin.UTC()
	name := "processed_event_p" + begin.Format("20060102")
	if begin.Truncate(day).Equal(begin) {
		return name
	}
	name += begin.Format("t150405")
	if ms := begin.UnixMilli() % 1000; ms != 0 {
		name += fmt.Sprintf("_%03d", ms)
	}
	return name
}
