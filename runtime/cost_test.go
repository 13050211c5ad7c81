package runtime_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
)

// tally counts what is sent to PostgreSQL from the begin of a batch to its commit:
// statements, and pipelines as one.
type tally struct {
	mu      sync.Mutex
	conn    *pgx.Conn // of the batch that is open
	sent    int
	batches []int
}

func (c *tally) count(conn *pgx.Conn, sql string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.HasPrefix(sql, "begin") && strings.Contains(sql, "idemlint_guard") {
		c.conn, c.sent = conn, 0
	}
	if conn != c.conn {
		return // upkeep
	}
	c.sent++
	if strings.HasPrefix(sql, "close idemlint_guard") {
		c.conn, c.batches = nil, append(c.batches, c.sent)
	}
}

func (c *tally) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	c.count(conn, data.SQL)
	return ctx
}

func (c *tally) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.count(conn, "")
	return ctx
}

func (c *tally) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *tally) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *tally) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// TestABatchInWhichNothingFailsCostsFourRoundTripsWhateverIsConfigured counts begin, the
// marks, the pipeline of the handlers' statements, among them what they emit, and commit.
func TestABatchInWhichNothingFailsCostsFourRoundTripsWhateverIsConfigured(t *testing.T) {
	for name, emit := range map[string]bool{"nothing": false, "all of it": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.prepareTable()
			w.produce(orders(100, 5)...)
			count := &tally{}
			admin := w.pool
			w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = count })
			cfg := w.config()
			register := w.queued
			if emit {
				cfg, _ = w.tiered(time.Hour)
				cfg.DeadLetterMaxAge, cfg.DeadLetterOutbox, cfg.ReplayTopic = time.Hour, true, w.kafka.Topic(t, 1)
				register = func(c *runtime.Consumer) { runtime.Handle(c, w.topic, emitting("out")) }
			}
			cfg.Linger, cfg.MaintenanceInterval = time.Second, time.Hour // one batch
			r := w.start(cfg, register)
			w.caughtUp()
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			w.pool = admin
			w.exactly(100)
			if !slices.Equal(count.batches, []int{4}) {
				t.Errorf("batches have sent %d times, want one that has sent 4 times", count.batches)
			}
		})
	}
}
