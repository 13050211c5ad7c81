package runtime_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/idemlint/idemlint/runtime"
)

// meters collects a consumer's metrics in memory.
type meters struct {
	w      *world
	reader *sdkmetric.ManualReader
}

// metered has the consumer of cfg report to what it returns.
func (w *world) metered(cfg *runtime.Config) *meters {
	m := &meters{w: w, reader: sdkmetric.NewManualReader()}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(m.reader))
	cfg.MeterProvider = provider
	w.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return m
}

// A point is a series: its value or, of a histogram, its count and sum.
type point struct {
	attrs      attribute.Set
	value, sum float64
}

// points returns the series of a metric.
func (m *meters) points(name string) []point {
	m.w.Helper()
	var rm metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &rm); err != nil {
		m.w.Fatal(err)
	}
	var out []point
	for _, scope := range rm.ScopeMetrics {
		for _, metric := range scope.Metrics {
			if metric.Name == name {
				out = append(out, pointsOf(metric.Data)...)
			}
		}
	}
	return out
}

func pointsOf(data metricdata.Aggregation) []point {
	var out []point
	switch data := data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			out = append(out, point{p.Attributes, float64(p.Value), 0})
		}
	case metricdata.Gauge[int64]:
		for _, p := range data.DataPoints {
			out = append(out, point{p.Attributes, float64(p.Value), 0})
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			out = append(out, point{p.Attributes, p.Value, 0})
		}
	case metricdata.Histogram[int64]:
		for _, p := range data.DataPoints {
			out = append(out, point{p.Attributes, float64(p.Count), float64(p.Sum)})
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			out = append(out, point{p.Attributes, float64(p.Count), p.Sum})
		}
	}
	return out
}

// by sums a metric's series over the values of an attribute.
func (m *meters) by(name, key string) map[string]float64 {
	m.w.Helper()
	out := make(map[string]float64)
	for _, p := range m.points(name) {
		value, _ := p.attrs.Value(attribute.Key(key))
		out[value.Emit()] += p.value
	}
	return out
}

func (m *meters) total(name string) (value, sum float64) {
	m.w.Helper()
	for _, p := range m.points(name) {
		value += p.value
		sum += p.sum
	}
	return value, sum
}

// names returns the metrics that have a value, sorted.
func (m *meters) names() []string {
	m.w.Helper()
	var rm metricdata.ResourceMetrics
	if err := m.reader.Collect(context.Background(), &rm); err != nil {
		m.w.Fatal(err)
	}
	var out []string
	for _, scope := range rm.ScopeMetrics {
		for _, metric := range scope.Metrics {
			if len(pointsOf(metric.Data)) > 0 {
				out = append(out, metric.Name)
			}
		}
	}
	slices.Sort(out)
	return out
}

// skipping skips the records of a key.
type skipping struct {
	runtime.JSON
	key string
}

func (s skipping) Decode(rec *kgo.Record, v any) (uuid.UUID, error) {
	if string(rec.Key) == s.key {
		return uuid.Nil, runtime.ErrSkip
	}
	return s.JSON.Decode(rec, v)
}

func TestEveryRecordIsCountedByWhatItCameTo(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(20, 1)
	events[3].EventID, events[4].EventID = uuid.New(), uuid.New() // not v7
	events[5].Amount = -1                                         // refused by the ledger
	events[6].Key, events[7].Key, events[8].Key = "skip", "skip", "skip"
	cfg := w.config()
	cfg.DeadLetter, cfg.Decoder = &shelf{}, skipping{key: "skip"}
	m := w.metered(&cfg)
	w.produce(events...)
	w.produce(events[9:13]...)
	r := w.start(cfg, w.queued)
	w.caughtUp()
	w.produce(events[12:20]...)
	w.caughtUp()
	w.eventually("the last batch is counted", func() bool { return r.Stats().Processed+r.Stats().Duplicates == 26 })

	got := m.by("idemlint.records.completed", "idemlint.outcome")
	want := map[string]float64{"processed": 14, "duplicate": 12, "quarantined": 2, "dead_lettered": 1, "skipped": 3, "delayed": 0}
	if !maps.Equal(got, want) {
		t.Errorf("records came to %v, want %v", got, want)
	}
	if polled, _ := m.total("messaging.client.consumed.messages"); polled != 32 {
		t.Errorf("%v records were polled, want 32", polled)
	}
	if _, records := m.total("idemlint.batch.size"); records != 32 {
		t.Errorf("batches held %v records, want 32", records)
	}
	for _, p := range m.points("idemlint.records.completed") {
		group, _ := p.attrs.Value("messaging.consumer.group.name")
		topic, _ := p.attrs.Value("messaging.destination.name")
		if group.AsString() != w.group || topic.AsString() != w.topic || p.attrs.Len() != 4 {
			t.Errorf("attributes are %s", p.attrs.Encoded(attribute.DefaultEncoder()))
		}
	}
}

func TestTheLatencyOfARecordIsFromItsPollToItsCommit(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	m := w.metered(&cfg)
	w.produce(orders(10, 1)...)
	entered, leave := make(chan struct{}), make(chan struct{})
	r := w.start(cfg, func(c *runtime.Consumer) {
		runtime.HandleBatch(c, w.topic, func(context.Context, pgx.Tx, []runtime.Event[order]) error {
			entered <- struct{}{}
			<-leave
			return nil
		})
	})
	<-entered
	began := time.Now()
	if count, _ := m.total("idemlint.commit.latency"); count != 0 {
		t.Errorf("%v latencies before the commit", count)
	}
	held := time.Since(began)
	close(leave)
	w.caughtUp()
	w.eventually("the batch is counted", func() bool { return r.Stats().Processed == 10 })
	count, sum := m.total("idemlint.commit.latency")
	if count != 10 || sum < 10*held.Seconds() {
		t.Errorf("%v latencies, %v s together; want 10 of at least %s", count, sum, held)
	}
	if count, sum := m.total("messaging.process.duration"); count != 1 || sum < held.Seconds() {
		t.Errorf("%v batches took %v s; want one of at least %s", count, sum, held)
	}
	w.eventually("an offset commit is measured", func() bool {
		count, _ := m.total("messaging.client.operation.duration")
		return count >= 1
	})
}

// failOnce raises an SQLSTATE in the first batch.
func (w *world) failOnce(code string) func(*runtime.Consumer) {
	var failed atomic.Bool
	return func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			if failed.CompareAndSwap(false, true) {
				_, err := tx.Exec(ctx, `DO $$BEGIN RAISE EXCEPTION 'planned' USING ERRCODE = '`+code+`'; END$$`)
				return err
			}
			return insertOrder(ctx, tx, e)
		})
	}
}

func TestARetryIsCountedWithItsSQLSTATE(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	m := w.metered(&cfg)
	w.produce(orders(10, 1)...)
	r := w.start(cfg, w.failOnce("40001"))
	w.caughtUp()
	w.eventually("the batch is counted", func() bool { return r.Stats().Processed == 10 })
	if got := m.by("idemlint.retries", "error.type"); !maps.Equal(got, map[string]float64{"40001": 1}) {
		t.Errorf("retries are %v, want one of 40001", got)
	}
	if got := m.by("messaging.process.duration", "error.type"); got["40001"] != 1 || got[""] < 1 {
		t.Errorf("attempts are %v, want one that failed with 40001", got)
	}
}

func TestAStoppedPartitionShowsItsLagItsAgeAndItsAlarm(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	m := w.metered(&cfg)
	first := record(w.topic, 1, orders(1, 1)[0])
	first.Value, first.Timestamp = []byte(`{`), time.Now().Add(-time.Hour)
	w.produceRecords(first)
	w.start(cfg, w.queued)
	w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) == 1 })
	w.produce(orders(14, 1)...) // nobody fetches these
	w.eventually("the lag is known", func() bool {
		return maps.Equal(m.by("idemlint.lag", "messaging.destination.partition.id"), map[string]float64{"0": 15})
	})
	if age, _ := m.total("idemlint.oldest_uncommitted.age"); age < 3600 || age > 3700 {
		t.Errorf("the oldest record is %v s old, want an hour", age)
	}
	states := map[string]float64{"running": 0, "paused": 0, "retrying": 0, "stopped": 1}
	if got := m.by("idemlint.partitions", "idemlint.state"); !maps.Equal(got, states) {
		t.Errorf("partitions are %v, want %v", got, states)
	}
	if got := m.by("idemlint.alarms", "idemlint.alarm.kind"); got["partition_stopped"] != 1 {
		t.Errorf("alarms are %v, want one of a stopped partition", got)
	}
}

func TestAPartitionThatIsDoneHasNoLag(t *testing.T) {
	w := newWorld(t, 2)
	cfg := w.config()
	m := w.metered(&cfg)
	w.produce(orders(20, 4)...)
	w.start(cfg, w.queued)
	w.caughtUp()
	w.eventually("the lag is known", func() bool {
		return maps.Equal(m.by("idemlint.lag", "messaging.destination.partition.id"), map[string]float64{"0": 0, "1": 0})
	})
	if age, _ := m.total("idemlint.oldest_uncommitted.age"); age != 0 {
		t.Errorf("the oldest record is %v s old, but none waits", age)
	}
}

func TestTheTablesPartitionsAheadAreAMetric(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	m := w.metered(&cfg)
	w.start(cfg, w.queued)
	w.eventually("the table is known", func() bool { return len(m.points("idemlint.dedup.ahead")) == 1 })
	w.eventually("partitions for the seven days ahead", func() bool {
		ahead, _ := m.total("idemlint.dedup.ahead")
		return ahead > (7*24*time.Hour).Seconds()-60
	})
	partitions, _ := m.total("idemlint.dedup.partitions")
	if n := w.count(`SELECT count(*) FROM pg_inherits WHERE inhparent = 'processed_event'::regclass`); float64(n) != partitions {
		t.Errorf("%v partitions, want %d", partitions, n)
	}
}

func TestCountersOfWhatIsAlarmingBeginAtZero(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	m := w.metered(&cfg)
	r := w.start(cfg, w.queued)
	w.eventually("readiness", r.isReady)
	zero := map[string]float64{"processed": 0, "duplicate": 0, "quarantined": 0, "dead_lettered": 0, "delayed": 0, "skipped": 0}
	if got := m.by("idemlint.records.completed", "idemlint.outcome"); !maps.Equal(got, zero) {
		t.Errorf("records came to %v, want %v", got, zero)
	}
	if got, ok := m.by("idemlint.alarms", "idemlint.alarm.kind")["stuck"]; !ok || got != 0 {
		t.Errorf("alarms of a kind that has not been raised are %v, %t", got, ok)
	}
}

func TestMetricsEndWithRun(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	m := w.metered(&cfg)
	r := w.start(cfg, w.queued)
	w.eventually("gauges", func() bool { return len(m.points("idemlint.partitions")) == 4 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if left := m.points("idemlint.partitions"); len(left) != 0 {
		t.Errorf("%d gauges are left of a consumer that has ended", len(left))
	}
}

var metricRow = regexp.MustCompile("(?m)^\\| `([a-z_]+\\.[a-z_.]+)` \\|")

// documented returns the metrics in the table of the README, sorted.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, row := range metricRow.FindAllSubmatch(text, -1) {
		out = append(out, string(row[1]))
	}
	slices.Sort(out)
	return out
}

func TestTheMetricsAreThoseThatTheReadmeLists(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.relayed()
	cfg.DeadLetter = &shelf{}
	m := w.metered(&cfg)
	events := orders(10, 1)
	events[5].Amount = -1
	w.produce(events...)
	w.start(cfg, w.failOnce("42P01"))
	w.caughtUp()
	want := documented(t)
	var emitted []string
	w.eventually("as many metrics as are documented", func() bool {
		emitted = m.names()
		return len(emitted) >= len(want)
	})
	if !slices.Equal(emitted, want) {
		t.Errorf("emitted are\n%q\ndocumented are\n%q", emitted, want)
	}
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range emitted {
		if !strings.Contains(string(text), name) {
			t.Errorf("the package documentation does not mention %s", name)
		}
	}
}

var testName = regexp.MustCompile(`\bTest[A-Z]\w+`)

func TestTheTestsThatTheReadmeNamesExist(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests = append(tests, text...)
	}
	named := testName.FindAllString(string(readme), -1)
	if len(named) == 0 {
		t.Fatal("the README names no test")
	}
	for _, name := range named {
		if !strings.Contains(string(tests), "\nfunc "+name+"(t *testing.T)") {
			t.Errorf("there is no test %s", name)
		}
	}
}
