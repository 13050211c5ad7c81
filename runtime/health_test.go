package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// probe asks a handler as a prober does.
func probe(t *testing.T, h http.Handler) (int, runtime.Health) {
	t.Helper()
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	var health runtime.Health
	if err := json.Unmarshal(answer.Body.Bytes(), &health); err != nil {
		t.Fatalf("%q: %v", answer.Body, err)
	}
	return answer.Code, health
}

func (r *running) isReady() bool { return r.Health(context.Background()).Ready }

func TestHealthFollowsRun(t *testing.T) {
	w := newWorld(t, 2)
	c, err := runtime.New(w.pool, w.config())
	if err != nil {
		t.Fatal(err)
	}
	w.ledger(c)
	if h := c.Health(t.Context()); !h.Live || h.Ready || len(h.NotReady) == 0 {
		t.Errorf("before Run: %+v", h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	w.eventually("both partitions are assigned", func() bool {
		h := c.Health(t.Context())
		return h.Ready && slices.Equal(h.Assigned[w.topic], []int32{0, 1})
	})
	if code, h := probe(t, c.Readiness()); code != http.StatusOK || !h.Ready {
		t.Errorf("readiness answers %d, %+v", code, h)
	}
	if code, h := probe(t, c.Liveness()); code != http.StatusOK || !h.Live || len(h.Assigned) != 1 {
		t.Errorf("liveness answers %d, %+v", code, h)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if code, h := probe(t, c.Readiness()); code != http.StatusServiceUnavailable || h.Ready {
		t.Errorf("after Run readiness answers %d, %+v", code, h)
	}
	if code, h := probe(t, c.Liveness()); code != http.StatusServiceUnavailable || h.Live {
		t.Errorf("after Run liveness answers %d, %+v", code, h)
	}
}

func TestAConsumerIsAliveButNotReadyWhileTheDatabaseIsAway(t *testing.T) {
	for _, when := range []string{"at the start", "later"} {
		t.Run(when, func(t *testing.T) {
			w := newWorld(t, 1)
			proxy := testpg.NewProxy(t, w.db.URL)
			w.pool = testpg.OpenPool(t, proxy.URL)
			proxy.Refuse(when == "at the start")
			r := w.start(w.config(), w.queued)
			if when == "later" {
				w.eventually("readiness", r.isReady)
				proxy.Refuse(true)
				proxy.Cut()
			}
			w.produce(orders(5, 1)...)
			w.eventually("it is not ready", func() bool {
				h := r.Health(t.Context())
				if !h.Live {
					t.Errorf("not live, for %q", h.NotLive)
				}
				return !h.Ready && strings.Contains(strings.Join(h.NotReady, " "), "database")
			})
			proxy.Refuse(false)
			w.eventually("readiness", r.isReady)
			w.caughtUp()
		})
	}
}

func TestAPoolWithoutAFreeConnectionIsNamedAsTheReason(t *testing.T) {
	w := newWorld(t, 1)
	w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.MaxConns = 1 })
	r := w.start(w.config(), w.queued)
	w.eventually("readiness", r.isReady)
	taken, err := w.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h := r.Health(t.Context())
	if h.Ready || !strings.Contains(strings.Join(h.NotReady, " "), "all 1 of the pool are in use") {
		t.Errorf("health is %+v", h)
	}
	taken.Release()
	w.eventually("readiness", r.isReady)
}

func TestAHandlerThatDoesNotReturnEndsLivenessUntilItDoes(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(5, 1)...)
	cfg := w.config()
	cfg.BatchTimeout, cfg.ShutdownTimeout = 500*time.Millisecond, 50*time.Millisecond // the first bounds looking for the table, too
	leave := make(chan struct{})
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			<-leave
			return insertOrder(ctx, tx, e)
		})
	})
	w.eventually("it is not live", func() bool { return !r.Health(t.Context()).Live })
	if code, _ := probe(t, r.Liveness()); code != http.StatusServiceUnavailable {
		t.Errorf("liveness answers %d", code)
	}
	close(leave)
	w.eventually("it is live", func() bool { return r.Health(t.Context()).Live })
}

func TestAStoppedPartitionChangesNeitherLivenessNorReadiness(t *testing.T) {
	w := newWorld(t, 2)
	events := orders(10, 4)
	events[2].Amount = -1
	w.produce(events...)
	r := w.start(w.config(), w.queued)
	w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) == 1 })
	h := r.Health(t.Context())
	if !h.Live || !h.Ready {
		t.Errorf("health is %+v", h)
	}
	if stopped := h.Stopped[w.topic]; len(stopped) != 1 || stopped[0] != w.alarmsOf(runtime.AlarmPartitionStopped)[0].Partition {
		t.Errorf("stopped are %v", h.Stopped)
	}
}

func TestAMemberWithoutPartitionsIsReady(t *testing.T) {
	for name, protocol := range map[string]runtime.Protocol{"classic": runtime.Classic, "KIP-848": runtime.KIP848} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			cfg := w.config()
			cfg.Protocol = protocol
			first, second := w.start(cfg, w.queued), w.start(cfg, w.queued)
			w.eventually("both are ready", func() bool {
				a, b := first.Health(t.Context()), second.Health(t.Context())
				return a.Ready && b.Ready && len(a.Assigned)+len(b.Assigned) == 1
			})
		})
	}
}

func TestALivenessProbeDuringRebalancesAlwaysSucceeds(t *testing.T) {
	w := newWorld(t, 4)
	first := w.start(w.config(), w.queued)
	w.eventually("readiness", first.isReady)
	ctx, cancel := context.WithCancel(t.Context())
	var probes atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if h := first.Health(ctx); !h.Live || !h.Ready && ctx.Err() == nil {
				t.Errorf("health is %+v", h)
			}
			probes.Add(1)
		}
	}()
	for range 3 {
		before := probes.Load()
		other := w.start(w.config(), w.queued)
		w.eventually("the other gets partitions", func() bool { return len(other.Health(t.Context()).Assigned[w.topic]) == 2 })
		w.produce(orders(40, 8)...)
		w.caughtUp()
		if err := other.stop(); err != nil {
			t.Error(err)
		}
		w.eventually("the first gets all", func() bool { return len(first.Health(t.Context()).Assigned[w.topic]) == 4 })
		if probes.Load() == before {
			t.Error("no probe during the rebalance")
		}
	}
	cancel()
	<-done
	w.exactly(120)
}

func TestAConsumerWhoseTableLacksThePresentIsNotReady(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	cfg.MaintenanceInterval = 20 * time.Millisecond
	r := w.start(cfg, w.queued)
	w.eventually("readiness", r.isReady)
	// Nobody makes partitions any more: another session holds the lock of upkeep.
	holder, err := w.pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Release()
	if _, err := holder.Exec(t.Context(), `SELECT pg_advisory_lock($1::bigint << 32 | 'processed_event'::regclass::oid::bigint)`, 0x69646d70); err != nil {
		t.Fatal(err)
	}
	w.exec(`DO $$DECLARE p regclass; BEGIN
		FOR p IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'processed_event'::regclass LOOP
			EXECUTE format('DROP TABLE %s', p);
		END LOOP; END$$`)
	w.eventually("it is not ready", func() bool {
		h := r.Health(t.Context())
		return h.Live && !h.Ready && strings.Contains(strings.Join(h.NotReady, " "), "no partition for the present")
	})
}

func TestAConsumerThatTheGroupHasNotAdmittedIsNotReady(t *testing.T) {
	w := newWorldOn(t, testpg.New(t), testkafka.Start(t, restartable()), 1)
	w.prepareTable()
	if err := w.kafka.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := w.start(w.config(), w.queued)
	w.eventually("it only waits for the group", func() bool {
		h := r.Health(t.Context())
		return h.Live && !h.Ready && slices.Equal(h.NotReady, []string{"the group has not admitted this member"})
	})
	if err := w.kafka.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.eventually("readiness", r.isReady)
}

func TestAConsumerWithoutItsTableReturnsAndIsNotLive(t *testing.T) {
	w := newWorld(t, 1)
	w.exec(`DROP TABLE processed_event`)
	r := w.start(w.config(), w.queued)
	if err := r.wait(); !errors.Is(err, runtime.ErrNotMigrated) {
		t.Errorf("Run returned %v", err)
	}
	if r.Health(t.Context()).Live {
		t.Error("live although Run has returned")
	}
}
