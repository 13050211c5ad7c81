package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// startRelay runs a relay until the test ends or stop is called.
func (w *world) startRelay(cfg runtime.RelayConfig) (_ *runtime.Relay, stop func()) {
	w.Helper()
	cfg.Brokers, cfg.Logger = w.kafka.Brokers(), logger()
	if cfg.Interval == 0 {
		cfg.Interval = 10 * time.Millisecond
	}
	r, err := runtime.NewRelay(w.pool, cfg)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.Errorf("the relay returned %v", err)
		}
	})
	w.Cleanup(stop)
	return r, stop
}

// begin opens a transaction that ends with the test at the latest.
func (w *world) begin() pgx.Tx {
	w.Helper()
	tx, err := w.pool.Begin(context.Background())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

func (w *world) emit(tx pgx.Tx, topic, key string, seq int) {
	w.Helper()
	if _, err := runtime.Emit(context.Background(), tx, topic, key, receipt{Key: key, Seq: seq}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) commit(tx pgx.Tx) {
	w.Helper()
	if err := tx.Commit(context.Background()); err != nil {
		w.Fatal(err)
	}
}

// fill emits n receipts of keys in turn and commits.
func (w *world) fill(topic string, n, keys int) {
	w.Helper()
	tx := w.begin()
	for i := range n {
		w.emit(tx, topic, fmt.Sprintf("key-%d", i%keys), i/keys)
	}
	w.commit(tx)
}

// TestALowerNumberThatCommitsLaterIsPublished leaves the gap that a relay with a position
// of its own would pass over.
func TestALowerNumberThatCommitsLaterIsPublished(t *testing.T) {
	w := newWorld(t, 1)
	out := w.kafka.Topic(t, 1)
	first, second := w.begin(), w.begin()
	w.emit(first, out, "a", 1)
	w.emit(second, out, "b", 2)
	w.commit(second)
	w.startRelay(runtime.RelayConfig{})
	w.eventually("the higher number is published, for nothing orders the two", func() bool { return len(w.receipts(out)) == 1 })
	w.relayedAll()
	w.commit(first)
	w.eventually("the lower one is published", func() bool { return len(w.receipts(out)) == 2 })
}

// TestATransactionThatWaitedForAnotherIsPublishedAfterIt gives the later one the lower
// transaction id, and keeps a third one open in between, which misleads every relay that
// goes by transaction ids.
func TestATransactionThatWaitedForAnotherIsPublishedAfterIt(t *testing.T) {
	w := newWorld(t, 1)
	out := w.kafka.Topic(t, 1)
	w.exec(`CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)`)
	w.exec(`INSERT INTO account VALUES (1, 0)`)
	ctx := t.Context()
	takeID := func(tx pgx.Tx) {
		if _, err := tx.Exec(ctx, `SELECT pg_current_xact_id()`); err != nil {
			t.Fatal(err)
		}
	}
	later, third, earlier := w.begin(), w.begin(), w.begin()
	takeID(later)
	takeID(third)
	const lock = `UPDATE account SET balance = balance + 1 WHERE id = 1`
	if _, err := earlier.Exec(ctx, lock); err != nil {
		t.Fatal(err)
	}
	w.emit(earlier, out, "a", 1)
	waited := make(chan error, 1)
	go func() {
		_, err := later.Exec(ctx, lock)
		waited <- err
	}()
	w.eventually("the later one waits", func() bool {
		return w.count(`SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE NOT l.granted AND a.datname = current_database()`) > 0
	})
	w.commit(earlier)
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	w.emit(later, out, "a", 2)
	w.commit(later)
	w.startRelay(runtime.RelayConfig{})
	w.relayedAll()
	if got := w.receipts(out); len(got) != 2 || got[0].Seq != 1 || got[1].Seq != 2 {
		t.Errorf("published %v, want 1 and then 2, although the third transaction is open", got)
	}
}

func TestMessagesOfAKeyStayInOrderWhileTheBrokerFails(t *testing.T) {
	w := newWorldOn(t, testpg.New(t), testkafka.Start(t, testkafka.Options{FakeOnly: true}), 1)
	out := w.kafka.Topic(t, 3)
	w.fill(out, 200, 10)
	for _, fault := range []*kerr.Error{kerr.NotEnoughReplicas, kerr.NotLeaderForPartition, kerr.MessageTooLarge, kerr.RequestTimedOut} {
		w.kafka.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: out, Err: fault, Count: 3})
	}
	r, _ := w.startRelay(runtime.RelayConfig{BatchSize: 30})
	w.relayedAll()
	w.inbound(w.receipts(out), 200)
	if r.Stats().Failed == 0 {
		t.Error("no message has failed")
	}
}

func TestOneRelayLeadsAndAnotherTakesOverWhenItsConnectionIsLost(t *testing.T) {
	w := newWorld(t, 1)
	out := w.kafka.Topic(t, 2)
	relays := make([]*runtime.Relay, 2)
	for i := range relays {
		relays[i], _ = w.startRelay(runtime.RelayConfig{})
	}
	leaders := func() (n int) {
		for _, r := range relays {
			if r.Stats().Leader {
				n++
			}
		}
		return n
	}
	w.eventually("one leads", func() bool { return leaders() == 1 })
	for round := range 3 {
		w.fill(out, 50, 5)
		w.relayedAll()
		if n := leaders(); n != 1 {
			t.Errorf("%d leaders in round %d", n, round)
		}
		w.exec(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	}
	w.fill(out, 50, 5)
	w.relayedAll()
	if got := len(w.receipts(out)); got < 200 {
		t.Errorf("%d messages published, want 200", got)
	}
}

func TestAMessageThatIsRefusedHoldsUpItsKeyOnly(t *testing.T) {
	w := newWorldOn(t, testpg.New(t), testkafka.Start(t, testkafka.Options{FakeOnly: true}), 1)
	out := w.kafka.Topic(t, 1)
	tx := w.begin()
	emit := func(key string, value []byte) {
		if _, err := runtime.EmitMessage(t.Context(), tx, runtime.Message{Topic: out, Key: []byte(key), Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	noise := make([]byte, 2<<20) // more than the client sends
	emit("large", noise)
	emit("large", []byte("after"))
	emit("small", []byte("a"))
	emit("small", []byte("b"))
	w.commit(tx)
	var mu sync.Mutex
	var errs []error
	w.startRelay(runtime.RelayConfig{OnError: func(_ int, err error) {
		mu.Lock()
		defer mu.Unlock()
		errs = append(errs, err)
	}})
	w.eventually("the others are published", func() bool { return w.unsent() == 2 })
	w.eventually("it is tried again", func() bool { mu.Lock(); defer mu.Unlock(); return len(errs) > 1 })
	for _, rec := range w.contents(out) {
		if string(rec.Key) != "small" {
			t.Errorf("published %q of key %q before the one that is refused", rec.Value, rec.Key)
		}
	}
	if !errors.Is(errs[0], kerr.MessageTooLarge) {
		t.Errorf("reported %v", errs[0])
	}
	w.exec(`UPDATE outbox_message SET value = 'cut' WHERE length(value) > 1000000`)
	w.relayedAll()
	var values [][]byte
	for _, rec := range w.contents(out) {
		values = append(values, rec.Value)
	}
	if got := string(bytes.Join(values, []byte(" "))); got != "a b cut after" {
		t.Errorf("published %q", got)
	}
}

func TestATopicThatIsMissingHoldsUpItsOwnMessagesOnly(t *testing.T) {
	w := newWorldOn(t, testpg.New(t), testkafka.Start(t, testkafka.Options{FakeOnly: true}), 1)
	out := w.kafka.Topic(t, 1)
	missing := out + "-missing"
	w.fill(missing, 20, 20)
	w.fill(out, 20, 20)
	w.startRelay(runtime.RelayConfig{BatchSize: 10})
	w.eventually("the other topic's are published", func() bool { return len(w.receipts(out)) == 20 })
	if n := w.unsent(); n != 20 {
		t.Errorf("%d messages are unsent, want those of the missing topic", n)
	}
	if err := w.kafka.Fake().CreateTopic(missing, 1, nil); err != nil {
		t.Fatal(err)
	}
	w.relayedAll()
	w.inbound(w.receipts(missing), 20)
}

func TestSentMessagesAreKeptForTheirRetention(t *testing.T) {
	for name, tc := range map[string]struct {
		retention time.Duration
		left      int
	}{"a day": {0, 20}, "not at all": {-1, 0}, "a moment": {time.Millisecond, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			out := w.kafka.Topic(t, 1)
			w.fill(out, 20, 4)
			r, _ := w.startRelay(runtime.RelayConfig{Retention: tc.retention})
			w.relayedAll()
			w.eventually("the others are gone", func() bool { return w.count(`SELECT count(*) FROM outbox_message`) == tc.left })
			w.fill(out, 1, 1)
			w.relayedAll()
			if got := len(w.receipts(out)); got != 21 {
				t.Errorf("%d messages published, want 21", got)
			}
			w.eventually("all are counted", func() bool { return r.Stats().Sent == 21 })
		})
	}
}

func TestAnUnsentMessageIsNeverDeleted(t *testing.T) {
	w := newWorldOn(t, testpg.New(t), testkafka.Start(t, testkafka.Options{FakeOnly: true}), 1)
	out := w.kafka.Topic(t, 1)
	w.fill(out+"-missing", 5, 5)
	w.fill(out, 5, 5)
	r, _ := w.startRelay(runtime.RelayConfig{Retention: time.Millisecond})
	w.eventually("the sent ones are deleted", func() bool { return r.Stats().Deleted == 5 })
	if n := w.unsent(); n != 5 {
		t.Errorf("%d unsent messages are left, want 5", n)
	}
}

func TestABrokerThatIsDownRaisesAnAlarmAndLosesNoMessage(t *testing.T) {
	w := newWorldOn(t, testpg.New(t), testkafka.Start(t, restartable()), 1)
	out := w.kafka.Topic(t, 1)
	w.produce(orders(5, 5)...)
	cfg := w.relayed()
	cfg.Relay.Timeout = 500 * time.Millisecond
	w.start(cfg, func(c *runtime.Consumer) { runtime.Handle(c, w.topic, emitting(out)) })
	w.caughtUp()
	w.relayedAll()
	if err := w.kafka.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.fill(out, 5, 5)
	w.eventually("an alarm about the outbox", func() bool { return len(w.alarmsOf(runtime.AlarmOutbox)) > 0 })
	if err := w.kafka.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.relayedAll()
	if got := len(w.receipts(out)); got < 10 {
		t.Errorf("%d messages published, want 10", got)
	}
}

func TestATopicThatIsCreatedAgainGetsTheMessagesOfTheOutbox(t *testing.T) {
	w := newWorld(t, 1)
	out := w.kafka.Topic(t, 2)
	r, _ := w.startRelay(runtime.RelayConfig{})
	w.fill(out, 5, 5)
	w.relayedAll()
	w.recreate(out, func() { w.fill(out, 5, 5) }, func() bool { return r.Stats().Failed > 0 })
	w.relayedAll()
	w.inbound(w.receipts(out), 5)
}

// TestAMarkThatIsHeldUpCountsAsAFailureInARow locks a message, so that the relay waits for
// as long as it does before it tries again.
func TestAMarkThatIsHeldUpCountsAsAFailureInARow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	out := w.kafka.Topic(t, 1)
	w.fill(out, 3, 1)
	lock := w.begin()
	if _, err := lock.Exec(t.Context(), `SELECT FROM outbox_message FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	var failures atomic.Int64
	w.startRelay(runtime.RelayConfig{OnError: func(attempt int, err error) { failures.Store(int64(attempt)) }})
	w.eventually("two failures in a row", func() bool { return failures.Load() == 2 })
	w.commit(lock)
	w.relayedAll()
	w.inbound(w.receipts(out), 3)
}

// relayKeepAlives asks a relay's connection for its settings once it tries the lock.
type relayKeepAlives struct {
	once sync.Once
	idle chan string
}

func (k *relayKeepAlives) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, k, data.SQL)
}

func (k *relayKeepAlives) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, _ pgx.TraceQueryEndData) {
	if sql, _ := ctx.Value(k).(string); strings.Contains(sql, "pg_try_advisory_lock") {
		k.once.Do(func() {
			var settings string
			err := conn.QueryRow(context.Background(), `SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings WHERE name LIKE 'tcp%'`).Scan(&settings)
			k.idle <- fmt.Sprint(settings, err)
		})
	}
}

// TestTheServerSoonNoticesARelayWhoseMachineIsGone looks at the settings only: the
// machine is the test's own.
func TestTheServerSoonNoticesARelayWhoseMachineIsGone(t *testing.T) {
	w := newWorld(t, 1)
	trace := &relayKeepAlives{idle: make(chan string, 1)}
	w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = trace })
	w.startRelay(runtime.RelayConfig{})
	if got, want := <-trace.idle, "4 10 5 30000<nil>"; got != want {
		t.Errorf("settings are %q, want %q", got, want)
	}
}

func TestARelayWithoutItsTableSaysSo(t *testing.T) {
	w := newWorld(t, 1)
	w.exec(`DROP TABLE outbox_message`)
	r, err := runtime.NewRelay(w.pool, runtime.RelayConfig{Brokers: w.kafka.Brokers(), Logger: logger()})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context()); !errors.Is(err, runtime.ErrNotMigrated) {
		t.Errorf("Run answered %v, want ErrNotMigrated", err)
	}
	if err := w.start(w.relayed(), w.queued).wait(); !errors.Is(err, runtime.ErrNotMigrated) {
		t.Errorf("a consumer's Run answered %v, want ErrNotMigrated", err)
	}
}

func TestARelayThatCannotWorkIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	bad := []runtime.RelayConfig{{}, {Brokers: []string{"x"}, BatchSize: -1}, {Brokers: []string{"x"}, Interval: time.Nanosecond}}
	if slices.ContainsFunc(bad, func(c runtime.RelayConfig) bool { _, err := runtime.NewRelay(w.pool, c); return err == nil }) {
		t.Error("one was accepted")
	}
	if _, err := runtime.NewRelay(nil, runtime.RelayConfig{Brokers: []string{"x"}}); err == nil {
		t.Error("one without a pool was accepted")
	}
}
