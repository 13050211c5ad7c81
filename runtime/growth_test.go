package runtime

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

const (
	growthGroup   = "billing-service"
	growthBatches = 100 // a round
	growthBatch   = 500 // events
)

// Both mark $1 events, the first of the last six days, in the order in which
// they would have come.
const (
	fillV7 = `INSERT INTO processed_event (event_id, consumer_group)
		SELECT (lpad(to_hex(ms), 12, '0') || '7' || substr(r, 1, 3) || '8' || substr(r, 4, 15))::uuid, $2
		FROM (SELECT (extract(epoch FROM now()) * 1000)::bigint - 6 * 86400000 + n * 6 * 86400000 / $1 AS ms, md5(random()::text) AS r
		FROM generate_series(1, $1::bigint) n) s`
	fillV4 = `INSERT INTO processed_event (event_id, consumer_group)
		SELECT id, $2 FROM (SELECT gen_random_uuid() AS id FROM generate_series(1, $1::bigint)) s ORDER BY id`
)

// BenchmarkGrowth fills processed_event to a million and to ten million rows and measures
// what the marks of a batch of 500 events cost in it, as a multiple of what they cost in
// an empty table: of events that are new, of the latest ones again, as after a crash, and
// of repeats from everywhere in the table, which nothing but a replay brings. The
// table of random ids (UUID v4) is one of the plain layout, the only one that takes them.
// Both tables take turns in every round; an iteration is a round of 100 batches, so run it
// with -benchtime 5x. It takes 2 GB of disk.
func BenchmarkGrowth(b *testing.B) {
	for _, rows := range []int{1_000_000, 10_000_000} {
		for _, kind := range []struct {
			name   string
			layout Layout
			fill   string
			newID  func() uuid.UUID
		}{
			{"partitioned", Partitioned, fillV7, func() uuid.UUID { return uuid.Must(uuid.NewV7()) }},
			{"plain", Plain, fillV7, func() uuid.UUID { return uuid.Must(uuid.NewV7()) }},
			{"random", Plain, fillV4, uuid.New},
		} {
			b.Run(fmt.Sprintf("rows=%d/%s", rows, kind.name), func(b *testing.B) { // once: the benchmark is the one inside
				server := testpg.Start(b, testpg.Options{Durable: true})
				empty, full := newGrown(b, server, kind.layout, kind.fill, 0), newGrown(b, server, kind.layout, kind.fill, rows)
				b.Run("marks", func(b *testing.B) { compareGrown(b, empty, full, kind.newID) })
			})
		}
	}
}

// grown is a table of a size.
type grown struct {
	testing.TB
	pool *pgxpool.Pool
	rows int
	// Events it holds: those marked last (in the order of random ids there is no last), and
	// some from everywhere.
	latest, scattered []uuid.UUID
}

func newGrown(b *testing.B, server *testpg.Server, layout Layout, fill string, rows int) *grown {
	b.Helper()
	ctx := context.Background()
	g := &grown{TB: b, pool: server.Database(b).Pool(b), rows: rows}
	_, err := Migrate(ctx, g.pool, layout)
	if err != nil {
		b.Fatal(err)
	}
	m, err := NewMaintainer(g.pool, MaintainerConfig{Group: growthGroup, Layout: layout, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err == nil {
		err = m.Prepare(ctx)
	}
	if err != nil {
		b.Fatal(err)
	}
	if rows == 0 {
		return g
	}
	g.exec(fill, rows, growthGroup)
	g.exec(`VACUUM (ANALYZE) processed_event`)
	const n = growthBatches * growthBatch
	g.latest = g.ids(fmt.Sprintf(`SELECT event_id FROM processed_event ORDER BY event_id DESC LIMIT %d`, n))
	g.scattered = g.ids(fmt.Sprintf(`SELECT event_id FROM processed_event TABLESAMPLE BERNOULLI (%f) ORDER BY random() LIMIT %d`,
		min(100, 150*float64(n)/float64(rows)), n))
	return g
}

func (g *grown) ids(sql string) []uuid.UUID {
	g.Helper()
	rows, err := g.pool.Query(context.Background(), sql)
	if err != nil {
		g.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(ids) != growthBatches*growthBatch {
		g.Fatalf("a sample of %d events: %v", len(ids), err)
	}
	return ids
}

func (g *grown) exec(sql string, args ...any) {
	g.Helper()
	if _, err := g.pool.Exec(context.Background(), sql, args...); err != nil {
		g.Fatalf("%s: %v", sql, err)
	}
}

// mark marks ids in batches, as a consumer does, and returns how long that took and the
// processor time of this process and the server. want is how many must be new.
func (g *grown) mark(ids []uuid.UUID, want int) (elapsed, cpu time.Duration) {
	g.Helper()
	ctx := context.Background()
	conn, err := g.pool.Acquire(ctx)
	if err != nil {
		g.Fatal(err)
	}
	defer conn.Release()
	postmaster := testpg.Postmaster(g.pool)
	before, began, fresh := testpg.ProcessorTime(postmaster), time.Now(), 0
	for batch := range slices.Chunk(ids, growthBatch) {
		marks := make([]pgtype.UUID, len(batch))
		for i, id := range batch {
			marks[i] = pgtype.UUID{Bytes: id, Valid: true}
		}
		slices.SortFunc(marks, func(x, y pgtype.UUID) int { return bytes.Compare(x.Bytes[:], y.Bytes[:]) })
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, markSQL("processed_event"), marks, growthGroup)
			fresh += int(tag.RowsAffected())
			return err
		})
		if err != nil {
			g.Fatal(err)
		}
	}
	elapsed, cpu = time.Since(began), testpg.ProcessorTime(postmaster)-before
	if fresh != want {
		g.Fatalf("%d of %d events are new, want %d", fresh, len(ids), want)
	}
	return elapsed, cpu
}

// compareGrown reports the medians of all rounds.
func compareGrown(b *testing.B, empty, full *grown, newID func() uuid.UUID) {
	ratios := map[string][]float64{}
	for b.Loop() {
		base, grown := empty.round(newID), full.round(newID)
		for name, at := range grown {
			ratios[name+"/empty"] = append(ratios[name+"/empty"], float64(at)/float64(base[name]))
		}
	}
	for name, all := range ratios {
		slices.Sort(all)
		b.ReportMetric(all[len(all)/2], name)
	}
	b.ReportMetric(0, "ns/op")
}

// round marks events of every kind and returns what each took, and with "cpu:" its
// processor time.
func (g *grown) round(newID func() uuid.UUID) map[string]time.Duration {
	g.Helper()
	ids := make([]uuid.UUID, growthBatches*growthBatch)
	for i := range ids {
		ids[i] = newID()
	}
	latest, scattered := g.latest, g.scattered
	if g.rows == 0 {
		g.exec(`TRUNCATE processed_event`)
		latest, scattered = ids, ids
	}
	g.exec(`CHECKPOINT`) // what was written before is not this round's
	costs := make(map[string]time.Duration)
	for _, run := range []struct {
		name string
		ids  []uuid.UUID
		want int
	}{{"new", ids, len(ids)}, {"again", latest, 0}, {"scattered", scattered, 0}} {
		costs[run.name], costs["cpu:"+run.name] = g.mark(run.ids, run.want)
	}
	return costs
}
