package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// patience bounds every wait for a condition. It is far beyond what a slow
// machine needs: reaching it is a failure.
const patience = 90 * time.Second

// order is the payload of the tests' events.
type order struct {
	EventID uuid.UUID `json:"eventId"`
	Key     string    `json:"key"`
	Seq     int       `json:"seq"` // ascending within a key
	Amount  int       `json:"amount"`
}

// world is a database with the runtime's tables and a ledger, and brokers with
// one topic.
type world struct {
	testing.TB
	db    *testpg.Database
	pool  *pgxpool.Pool
	kafka *testkafka.Cluster
	topic string
	group string
	admin *kadm.Client
	send  *kgo.Client

	mu     sync.Mutex
	alarms []runtime.Alarm
}

// ledgerSQL makes a table that accepts repeats, so that they show.
const ledgerSQL = `CREATE TABLE ledger (
	n        bigint GENERATED ALWAYS AS IDENTITY,
	event_id uuid NOT NULL,
	key      text NOT NULL,
	seq      int  NOT NULL,
	amount   int  NOT NULL CONSTRAINT positive CHECK (amount >= 0)
)`

const insertSQL = `INSERT INTO ledger (event_id, key, seq, amount) VALUES ($1, $2, $3, $4)`

func newWorld(tb testing.TB, partitions int32) *world {
	tb.Helper()
	return newWorldOn(tb, testpg.New(tb), testkafka.Start(tb, quick()), partitions)
}

// quick makes a fake broker notice at once what members of a KIP-848 group do.
// For classic groups the members' own heartbeat does that.
func quick() testkafka.Options {
	return testkafka.Options{Fake: []kfake.Opt{kfake.BrokerConfigs(map[string]string{
		"group.consumer.session.timeout.ms": "2000", "group.consumer.heartbeat.interval.ms": "100",
	})}}
}

// restartable is quick for brokers that are stopped and started.
func restartable() testkafka.Options {
	options := quick()
	options.Restartable = true
	return options
}

func newWorldOn(tb testing.TB, db *testpg.Database, kafka *testkafka.Cluster, partitions int32) *world {
	tb.Helper()
	w := &world{TB: tb, db: db, kafka: kafka, topic: kafka.Topic(tb, partitions), group: kafka.Group()}
	w.pool = db.Pool(tb, func(c *pgxpool.Config) { c.MaxConns = 12 })
	if _, err := runtime.Migrate(tb.Context(), w.pool); err != nil {
		tb.Fatal(err)
	}
	w.exec(ledgerSQL)
	w.send = kafka.Client(tb, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	w.admin = kadm.NewClient(kafka.Client(tb))
	return w
}

// prepareTable makes the partitions that a consumer would make first.
func (w *world) prepareTable() {
	w.Helper()
	m, err := runtime.NewMaintainer(w.pool, runtime.MaintainerConfig{Group: w.group, Logger: logger()})
	if err == nil {
		err = m.Prepare(context.Background())
	}
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) exec(sql string, args ...any) {
	w.Helper()
	if _, err := w.pool.Exec(context.Background(), sql, args...); err != nil {
		w.Fatalf("%s: %v", sql, err)
	}
}

func (w *world) count(sql string, args ...any) int {
	w.Helper()
	var n int
	var err error
	for range 20 { // a test may have broken every connection of the pool
		if err = w.pool.QueryRow(context.Background(), sql, args...).Scan(&n); err == nil {
			return n
		}
	}
	w.Fatalf("%s: %v", sql, err)
	return 0
}

// orders makes n events of keys in turn.
func orders(n, keys int) []order {
	out := make([]order, n)
	for i := range out {
		out[i] = order{EventID: uuid.Must(uuid.NewV7()), Key: fmt.Sprintf("key-%d", i%keys), Seq: i / keys, Amount: 1}
	}
	return out
}

func (w *world) partitions() int {
	w.Helper()
	ends, err := w.kafka.EndOffsets(context.Background(), w.topic)
	if err != nil {
		w.Fatal(err)
	}
	return len(ends)
}

// record makes a record of an event, in the partition of its key.
func record(topic string, partitions int, o order) *kgo.Record {
	value, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var h uint32 = 2166136261
	for i := range len(o.Key) {
		h = (h ^ uint32(o.Key[i])) * 16777619
	}
	return &kgo.Record{Topic: topic, Partition: int32(h % uint32(partitions)), Key: []byte(o.Key), Value: value}
}

// produce sends events in order and returns when the broker has them.
func (w *world) produce(events ...order) {
	w.Helper()
	n := w.partitions()
	recs := make([]*kgo.Record, len(events))
	for i, o := range events {
		recs[i] = record(w.topic, n, o)
	}
	w.produceRecords(recs...)
}

func (w *world) produceRecords(recs ...*kgo.Record) {
	w.Helper()
	if err := w.send.ProduceSync(context.Background(), recs...).FirstErr(); err != nil {
		w.Fatalf("producing: %v", err)
	}
}

// config returns the configuration that tests start from.
func (w *world) config() runtime.Config {
	return runtime.Config{
		Brokers:        w.kafka.Brokers(),
		Group:          w.group,
		BackoffMin:     5 * time.Millisecond,
		BackoffMax:     200 * time.Millisecond,
		CommitInterval: 5 * time.Millisecond,
		KafkaOptions:   []kgo.Opt{kgo.HeartbeatInterval(100 * time.Millisecond)},
		Logger:         logger(),
		OnAlarm: func(a runtime.Alarm) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.alarms = append(w.alarms, a)
		},
	}
}

func logger() *slog.Logger {
	if os.Getenv("IDEMLINT_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}

func (w *world) alarmsOf(kind runtime.AlarmKind) []runtime.Alarm {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []runtime.Alarm
	for _, a := range w.alarms {
		if a.Kind == kind {
			out = append(out, a)
		}
	}
	return out
}

// running is a consumer at work.
type running struct {
	*runtime.Consumer
	w      *world
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// start runs a consumer until the test ends or stop is called.
func (w *world) start(cfg runtime.Config, register func(*runtime.Consumer)) *running {
	w.Helper()
	return w.startWith(context.Background(), cfg, register)
}

func (w *world) startWith(ctx context.Context, cfg runtime.Config, register func(*runtime.Consumer)) *running {
	w.Helper()
	c, err := runtime.New(w.pool, cfg)
	if err != nil {
		w.Fatal(err)
	}
	register(c)
	ctx, cancel := context.WithCancel(ctx)
	r := &running{Consumer: c, w: w, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = c.Run(ctx)
	}()
	w.Cleanup(func() {
		cancel()
		<-r.done
		if r.err != nil && !errors.Is(r.err, seam.ErrCrash) {
			w.Logf("Run returned %v", r.err)
		}
	})
	return r
}

// stop ends the consumer and returns what Run returned.
func (r *running) stop() error {
	r.cancel()
	return r.wait()
}

func (r *running) wait() error {
	r.w.Helper()
	select {
	case <-r.done:
	case <-time.After(patience):
		r.w.Fatalf("Run did not return\n%s", stacks())
	}
	return r.err
}

// ledger registers the handler that most tests use: one row an event.
func (w *world) ledger(c *runtime.Consumer) {
	runtime.Handle(c, w.topic, insertOrder)
}

func insertOrder(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
	_, err := tx.Exec(ctx, insertSQL, e.ID, e.Payload.Key, e.Payload.Seq, e.Payload.Amount)
	return err
}

func queueOrder(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
	return runtime.Queue(ctx, tx, insertSQL, e.ID, e.Payload.Key, e.Payload.Seq, e.Payload.Amount)
}

func (w *world) queued(c *runtime.Consumer) { runtime.Handle(c, w.topic, queueOrder) }

// eventually waits for a condition.
func (w *world) eventually(what string, condition func() bool) {
	w.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			w.Fatalf("never happened: %s\n%s", what, stacks())
		}
		<-tick.C
	}
}

// caughtUp waits until the group has committed the end of every partition.
func (w *world) caughtUp() {
	w.Helper()
	var ends map[int32]int64
	w.eventually("the broker answers", func() bool {
		var err error
		ends, err = w.kafka.EndOffsets(context.Background(), w.topic)
		return err == nil
	})
	maps.DeleteFunc(ends, func(_ int32, end int64) bool { return end == 0 })
	var at map[int32]int64
	w.eventually(fmt.Sprintf("group commits %v", ends), func() bool {
		at = w.committed()
		return maps.Equal(at, ends)
	})
}

// committed returns the group's offsets by partition, or nil while the broker
// does not answer. It leaves out those at zero, where every log of a test begins.
func (w *world) committed() map[int32]int64 {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	offsets, err := w.admin.FetchOffsets(ctx, w.group)
	if err != nil {
		return nil
	}
	out := make(map[int32]int64)
	for id, o := range offsets[w.topic] {
		if o.Err == nil && o.At > 0 {
			out[id] = o.At
		}
	}
	return out
}

// exactly asserts that the ledger holds one row for each of n distinct events,
// and prints the count.
func (w *world) exactly(n int) {
	w.Helper()
	rows := w.count(`SELECT count(*) FROM ledger`)
	distinct := w.count(`SELECT count(DISTINCT event_id) FROM ledger`)
	w.Logf("%d effects, %d distinct events, %d produced", rows, distinct, n)
	if rows != n || distinct != n {
		w.Errorf("got %d effects of %d distinct events, want %d of %d", rows, distinct, n, n)
	}
}

// orderedPerKey asserts that every key's events were applied in their order.
func (w *world) orderedPerKey() {
	w.Helper()
	bad := w.count(`SELECT count(*) FROM (
		SELECT seq, lag(seq) OVER (PARTITION BY key ORDER BY n) AS before FROM ledger) s WHERE seq <= before`)
	if bad != 0 {
		w.Errorf("%d events were applied before an earlier one of their key", bad)
	}
}

// monotone watches committed offsets until the test ends and fails if one falls.
func (w *world) monotone() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		high := make(map[int32]int64)
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			for id, at := range w.committed() {
				if at < high[id] {
					w.Errorf("committed offset of partition %d fell from %d to %d", id, high[id], at)
				}
				high[id] = max(high[id], at)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	w.Cleanup(stop)
	return stop
}

// noGoroutines asserts that nothing of the runtime or its clients is left.
func (w *world) noGoroutines() {
	w.Helper()
	w.eventually("the runtime's goroutines end", func() bool {
		return !strings.Contains(stacks(), "idemlint/runtime.(*")
	})
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:goruntime.Stack(buf, true)])
}
