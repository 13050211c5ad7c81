package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// BenchmarkConsume compares the runtime with consumers written by hand on the
// same database and broker, in one run:
//
//   - "by hand, a transaction per event" is what most services have;
//   - "by hand, best batch" is what an expert would write for this one handler:
//     one unnest for the marks, one pipeline for the work, one commit.
//
// Each iteration is one event. Run it with -benchtime 50000x or so; the ratios
// count, not the absolute numbers.
func BenchmarkConsume(b *testing.B) {
	server := testpg.Start(b, testpg.Options{Durable: true})
	for _, partitions := range []int32{1, 8} {
		for _, rtt := range []time.Duration{0, time.Millisecond} {
			for _, c := range contenders() {
				b.Run(fmt.Sprintf("partitions=%d/rtt=%s/%s", partitions, rtt, c.name), func(b *testing.B) {
					benchmark(b, server, partitions, rtt, c)
				})
			}
		}
	}
}

type contender struct {
	name string
	// seen says that the events have been processed before.
	seen bool
	// roundTrips says that every event costs round trips, so that fewer will do.
	roundTrips bool
	// byHand consumes with a client of its own until count events are done.
	byHand func(b *testing.B, w *world, client *kgo.Client, count int)
	// register registers the runtime's handler.
	register func(*world) func(*runtime.Consumer)
	// configure turns the runtime's instruments on; records then name their producer's span.
	configure func(*world, *runtime.Config)
}

// events is how many of n events this contender is given. Those that need several
// round trips an event get fewer; rates are per event all the same.
func (c contender) events(n int, rtt time.Duration) int {
	switch {
	case !c.roundTrips:
		return n
	case rtt > 0:
		return max(1, n/100)
	default:
		return max(1, n/20)
	}
}

func contenders() []contender {
	return []contender{
		{name: "by hand, a transaction per event", roundTrips: true, byHand: perEvent},
		{name: "by hand, best batch", byHand: bestBatch},
		{name: "Handle", roundTrips: true, register: func(w *world) func(*runtime.Consumer) { return w.ledger }},
		{name: "Handle with the queue", register: func(w *world) func(*runtime.Consumer) { return w.queued }},
		{name: "Handle with the queue, instruments on", register: func(w *world) func(*runtime.Consumer) { return w.queued }, configure: instrumented},
		{name: "HandleBatch", register: func(w *world) func(*runtime.Consumer) { return w.setBased }},
		{name: "all duplicates", seen: true, register: func(w *world) func(*runtime.Consumer) { return w.queued }},
	}
}

func benchmark(b *testing.B, server *testpg.Server, partitions int32, rtt time.Duration, c contender) {
	count := c.events(b.N, rtt)
	used := consume(b, server, partitions, rtt, c, count)
	b.ReportMetric(float64(count)/used.elapsed.Seconds(), "events/s")
	b.ReportMetric(float64(used.elapsed.Nanoseconds())/float64(count), "ns/event")
	b.ReportMetric(float64(used.cpu.Nanoseconds())/float64(count), "cpu-ns/event")
	b.ReportMetric(float64(used.here.Nanoseconds())/float64(count), "cpu-here-ns/event")
	b.ReportMetric(float64(used.allocs)/float64(count), "allocs/event")
	b.ReportMetric(float64(used.bytes)/float64(count), "B/event")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkBars runs all contenders in turn, several rounds of them, and reports
// the median of each round's ratios, so that a machine that is slow for a while
// is slow for all: of rates, and with "cpu:" of the processor time that an event
// takes here and in the server, which other work on the machine does not change.
// More than 1 is better than what is compared with. Each iteration is one event of a
// round.
func BenchmarkBars(b *testing.B) {
	server := testpg.Start(b, testpg.Options{Durable: true})
	for _, partitions := range []int32{1, 8} {
		for _, rtt := range []time.Duration{0, time.Millisecond} {
			b.Run(fmt.Sprintf("partitions=%d/rtt=%s", partitions, rtt), func(b *testing.B) {
				ratios := map[string][]float64{}
				for round := range min(5, b.N) { // one round for the first call, with N = 1
					runRound(b, server, partitions, rtt, round, ratios)
				}
				for name, all := range ratios {
					slices.Sort(all)
					b.ReportMetric(all[len(all)/2], name)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// runRound adds one round's ratios. Every other round runs backwards: the database
// grows, and whoever comes later has the larger one.
func runRound(b *testing.B, server *testpg.Server, partitions int32, rtt time.Duration, round int, ratios map[string][]float64) {
	rate, perCPU := map[string]float64{}, map[string]float64{}
	inTurn := contenders()
	if round%2 == 1 {
		slices.Reverse(inTurn)
	}
	for _, c := range inTurn {
		count := c.events(b.N, rtt)
		used := consume(b, server, partitions, rtt, c, count)
		rate[c.name] = float64(count) / used.elapsed.Seconds()
		perCPU[c.name] = float64(count) / used.cpu.Seconds()
	}
	for name, pair := range map[string][2]string{
		"queue/best-batch":       {"Handle with the queue", "by hand, best batch"},
		"HandleBatch/best-batch": {"HandleBatch", "by hand, best batch"},
		"queue/per-event":        {"Handle with the queue", "by hand, a transaction per event"},
		"HandleBatch/per-event":  {"HandleBatch", "by hand, a transaction per event"},
		"duplicates/first":       {"all duplicates", "Handle with the queue"},
		"instruments/queue":      {"Handle with the queue, instruments on", "Handle with the queue"},
	} {
		ratios[name] = append(ratios[name], rate[pair[0]]/rate[pair[1]])
		ratios["cpu:"+name] = append(ratios["cpu:"+name], perCPU[pair[0]]/perCPU[pair[1]])
	}
}

// BenchmarkFlat has one consumer process b.N events and compares its last tenth with
// its first: rates, and events for the same processor time. 1 is flat. Each tenth is
// produced while the handler waits, so that only consuming counts. Run it with
// -benchtime 1000000x.
func BenchmarkFlat(b *testing.B) {
	const tenths, partitions = 10, 6
	w := newWorldOn(b, testpg.Start(b, testpg.Options{Durable: true}).Database(b), testkafka.Start(b, testkafka.Options{}), partitions)
	var gate sync.RWMutex
	r := w.start(w.config(), func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			gate.RLock()
			defer gate.RUnlock()
			return queueOrder(ctx, tx, e)
		})
	})
	w.produce(orders(1000, 100)...)
	w.caughtUp()
	server := testpg.Postmaster(w.pool)
	var rates, perCPU []float64
	produced := 1000
	for tenth := range tenths {
		gate.Lock()
		count := max(1, b.N/tenths)
		for chunk := range slices.Chunk(make([]struct{}, count), 10_000) {
			w.produce(orders(len(chunk), 1000)...)
		}
		produced += count
		goruntime.GC()
		began, cpu := time.Now(), testpg.ProcessorTime(server)
		gate.Unlock()
		for r.Stats().Processed < int64(produced) {
			time.Sleep(2 * time.Millisecond)
		}
		elapsed, cpu := time.Since(began), testpg.ProcessorTime(server)-cpu
		var memory goruntime.MemStats
		goruntime.ReadMemStats(&memory)
		rates = append(rates, float64(count)/elapsed.Seconds())
		perCPU = append(perCPU, float64(count)/cpu.Seconds())
		b.Logf("tenth %d: %.0f events/s, %.1f µs of processor an event, %d MB of heap (with the fake broker's log)",
			tenth+1, rates[tenth], 1e6/perCPU[tenth], memory.HeapAlloc>>20)
	}
	w.exactly(produced)
	b.ReportMetric(rates[tenths-1]/rates[0], "last/first")
	b.ReportMetric(perCPU[tenths-1]/perCPU[0], "cpu:last/first")
	b.ReportMetric(0, "ns/op")
}

// consume has a contender consume count events that are in the topic already, and
// returns what that took from the first poll on.
func consume(b *testing.B, server *testpg.Server, partitions int32, rtt time.Duration, c contender, count int) usage {
	w := newWorldOn(b, server.Database(b), testkafka.Start(b, testkafka.Options{}), partitions)
	w.prepareTable()
	events := make([]order, count)
	recs := make([]*kgo.Record, count)
	for i := range events {
		events[i] = order{EventID: uuid.Must(uuid.NewV7()), Key: fmt.Sprint("customer-", i%1000), Seq: i, Amount: 1}
		recs[i] = record(w.topic, 1, events[i])
		recs[i].Partition = int32(i) % partitions
		if c.configure != nil {
			recs[i].Headers = []kgo.RecordHeader{{Key: "traceparent", Value: []byte(traceA)}}
		}
	}
	for chunk := range slices.Chunk(recs, 10_000) {
		w.produceRecords(chunk...)
	}
	if c.seen {
		ids := make([]uuid.UUID, count)
		for i, e := range events {
			ids[i] = e.EventID
		}
		w.exec(`INSERT INTO processed_event (event_id, consumer_group) SELECT unnest($1::uuid[]), $2`, ids, w.group)
	}
	direct := w.pool
	if rtt > 0 {
		proxy := testpg.NewProxy(b, w.db.URL)
		proxy.SetRoundTrip(rtt)
		w.pool = testpg.OpenPool(b, proxy.URL, func(c *pgxpool.Config) { c.MaxConns = 12 })
	}
	w.warmUp(int(partitions))
	// Joining the group is not what is compared: the clock starts with the first fetch.
	start := &firstFetch{server: testpg.Postmaster(w.pool)}
	var r *running
	if c.byHand != nil {
		client := w.kafka.Client(b, kgo.ConsumerGroup(w.group), kgo.ConsumeTopics(w.topic), kgo.DisableAutoCommit(),
			kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.WithHooks(start))
		c.byHand(b, w, client, count)
		defer client.CloseAllowingRebalance()
	} else {
		cfg := w.config()
		cfg.CommitInterval = 0
		if c.configure != nil {
			c.configure(w, &cfg)
		}
		cfg.KafkaOptions = []kgo.Opt{kgo.WithHooks(start)}
		r = w.startUntil(count, cfg, c.register(w))
	}
	used := start.used()
	if r != nil {
		_ = r.stop()
	}
	// Not only when the benchmark ends: the disk and the server have a limit.
	if _, err := direct.Exec(context.Background(), `TRUNCATE processed_event, ledger`); err != nil {
		b.Fatal(err)
	}
	w.pool.Close()
	direct.Close()
	return used
}

// startUntil runs a consumer and returns when it has completed count events. Asking it
// again and again would cost a good part of what is measured.
func (w *world) startUntil(count int, cfg runtime.Config, register func(*runtime.Consumer)) *running {
	var consumer *runtime.Consumer
	all := make(chan struct{})
	closeAll := sync.OnceFunc(func() { close(all) })
	ctx := seam.With(context.Background(), func(s seam.Step) error {
		if s == seam.AfterWatermark {
			if done := consumer.Stats(); done.Processed+done.Duplicates >= int64(count) {
				closeAll()
			}
		}
		return nil
	})
	r := w.startWith(ctx, cfg, func(c *runtime.Consumer) {
		consumer = c
		register(c)
	})
	<-all
	return r
}

// warmUp opens n connections and has each of them do what it will do, for PostgreSQL reads
// the catalogs anew for every connection.
func (w *world) warmUp(n int) {
	w.Helper()
	ctx := context.Background()
	for range n {
		conn, err := w.pool.Acquire(ctx)
		if err != nil {
			w.Fatal(err)
		}
		defer conn.Release()
		tx, err := conn.Begin(ctx)
		if err != nil {
			w.Fatal(err)
		}
		id := uuid.Must(uuid.NewV7())
		_, err = tx.Exec(ctx, `INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, w.group)
		if err == nil {
			_, err = tx.Exec(ctx, insertSQL, id, "customer", 1, 1)
		}
		if err = errors.Join(err, tx.Rollback(ctx)); err != nil {
			w.Fatal(err)
		}
	}
}

// usage is what a run took. The process also holds the fake broker, whose part
// counts for all contenders alike.
type usage struct {
	elapsed       time.Duration
	cpu, here     time.Duration // of this process with the PostgreSQL server's, and without
	allocs, bytes uint64
}

// firstFetch is a clock that begins when the first records are asked for. Not when they
// are polled: a client that fetches all at once has done much of its work by then.
type firstFetch struct {
	server int // process id, zero if unknown
	once   sync.Once
	at     time.Time
	cpu    time.Duration
	here   time.Duration
	memory goruntime.MemStats
}

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (f *firstFetch) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key != int16(kmsg.Fetch) {
		return
	}
	f.once.Do(func() {
		goruntime.ReadMemStats(&f.memory)
		f.cpu, f.here = testpg.ProcessorTime(f.server), testpg.ProcessorTime(0)
		f.at = time.Now()
	})
}

func (f *firstFetch) used() usage {
	elapsed := time.Since(f.at)
	cpu, here := testpg.ProcessorTime(f.server)-f.cpu, testpg.ProcessorTime(0)-f.here
	var now goruntime.MemStats
	goruntime.ReadMemStats(&now)
	return usage{elapsed, cpu, here, now.Mallocs - f.memory.Mallocs, now.TotalAlloc - f.memory.TotalAlloc}
}

// consumeByHand polls and calls work for every partition's records, a goroutine a
// partition, and commits what is done.
func consumeByHand(b *testing.B, client *kgo.Client, count int, work func([]*kgo.Record) error) {
	ctx := context.Background()
	var done atomic.Int64
	for done.Load() < int64(count) {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			b.Fatal(err)
		}
		failed := make(chan error, 64)
		n := 0
		fetches.EachPartition(func(f kgo.FetchTopicPartition) {
			n++
			go func() { failed <- work(f.Records) }()
			done.Add(int64(len(f.Records)))
		})
		for range n {
			if err := <-failed; err != nil {
				b.Fatal(err)
			}
		}
		if err := client.CommitRecords(ctx, fetches.Records()...); err != nil {
			b.Fatal(err)
		}
	}
}

func perEvent(b *testing.B, w *world, client *kgo.Client, count int) {
	consumeByHand(b, client, count, func(recs []*kgo.Record) error {
		ctx := context.Background()
		for _, rec := range recs {
			var o order
			if err := json.Unmarshal(rec.Value, &o); err != nil {
				return err
			}
			err := pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
				tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, $2) ON CONFLICT DO NOTHING`, o.EventID, w.group)
				if err != nil || tag.RowsAffected() == 0 {
					return err
				}
				_, err = tx.Exec(ctx, insertSQL, o.EventID, o.Key, o.Seq, o.Amount)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func bestBatch(b *testing.B, w *world, client *kgo.Client, count int) {
	consumeByHand(b, client, count, func(recs []*kgo.Record) error {
		for batch := range slices.Chunk(recs, 500) {
			if err := handWrittenBatch(w, batch); err != nil {
				return err
			}
		}
		return nil
	})
}

func handWrittenBatch(w *world, recs []*kgo.Record) error {
	ctx := context.Background()
	events := make([]order, len(recs))
	ids := make([]pgtype.UUID, len(recs)) // pgx takes thrice as long for a uuid.UUID
	for i, rec := range recs {
		if err := json.Unmarshal(rec.Value, &events[i]); err != nil {
			return err
		}
		ids[i] = pgtype.UUID{Bytes: events[i].EventID, Valid: true}
	}
	slices.SortFunc(ids, func(a, b pgtype.UUID) int { return bytes.Compare(a.Bytes[:], b.Bytes[:]) })
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `INSERT INTO processed_event (event_id, consumer_group) SELECT unnest($1::uuid[]), $2
			ON CONFLICT DO NOTHING RETURNING event_id`, ids, w.group)
		if err != nil {
			return err
		}
		fresh := make(map[uuid.UUID]bool, len(recs))
		var id pgtype.UUID
		if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { fresh[id.Bytes] = true; return nil }); err != nil {
			return err
		}
		var pipeline pgx.Batch
		for _, o := range events {
			if fresh[o.EventID] {
				delete(fresh, o.EventID)
				pipeline.Queue(insertSQL, pgtype.UUID{Bytes: o.EventID, Valid: true}, o.Key, o.Seq, o.Amount)
			}
		}
		return tx.SendBatch(ctx, &pipeline).Close()
	})
}

// setBased is a batch handler that writes its rows in one statement.
func (w *world) setBased(c *runtime.Consumer) {
	runtime.HandleBatch(c, w.topic, func(ctx context.Context, tx pgx.Tx, events []runtime.Event[order]) error {
		ids := make([]uuid.UUID, len(events))
		keys := make([]string, len(events))
		seqs, amounts := make([]int, len(events)), make([]int, len(events))
		for i, e := range events {
			ids[i], keys[i], seqs[i], amounts[i] = e.ID, e.Payload.Key, e.Payload.Seq, e.Payload.Amount
		}
		_, err := tx.Exec(ctx, `INSERT INTO ledger (event_id, key, seq, amount)
			SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::int[])`, ids, keys, seqs, amounts)
		return err
	})
}
