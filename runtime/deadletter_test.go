package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// contents reads everything that a topic holds now.
func (w *world) contents(topic string) []*kgo.Record {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ends, err := w.kafka.EndOffsets(ctx, topic)
	if err != nil {
		w.Fatal(err)
	}
	maps.DeleteFunc(ends, func(_ int32, end int64) bool { return end == 0 })
	client, err := kgo.NewClient(kgo.SeedBrokers(w.kafka.Brokers()...), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50*time.Millisecond))
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	var all []*kgo.Record
	for len(ends) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			w.Fatalf("reading topic %s: %v", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			all = append(all, r)
			if r.Offset+1 >= ends[r.Partition] {
				delete(ends, r.Partition)
			}
		})
	}
	return all
}

func headersOf(r *kgo.Record) map[string]string {
	headers := make(map[string]string)
	for _, h := range r.Headers {
		headers[h.Key] = string(h.Value)
	}
	return headers
}

// deadLettered answers a configuration with a dead letter topic, and the topic.
func (w *world) deadLettered() (runtime.Config, string) {
	w.Helper()
	cfg := w.config()
	cfg.DeadLetterTopic = w.kafka.Topic(w, 1)
	return cfg, cfg.DeadLetterTopic
}

func TestAFailedRecordIsInTheDeadLetterTopicWithWhereItCameFromAndWhy(t *testing.T) {
	w := newWorld(t, 2)
	events := orders(30, 3)
	events[20].Amount = -1
	recs := make([]*kgo.Record, len(events))
	for i, e := range events {
		recs[i] = record(w.topic, 2, e)
	}
	bad := recs[20]
	bad.Headers = []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}, {Key: runtime.HeaderGroup, Value: []byte("another group's")}}
	w.produceRecords(recs...)
	cfg, dlq := w.deadLettered()
	r := w.start(cfg, w.queued)
	w.caughtUp()
	w.exactly(29)
	got := w.contents(dlq)
	if len(got) != 1 {
		t.Fatalf("%d dead letters, want 1", len(got))
	}
	if string(got[0].Key) != string(bad.Key) || string(got[0].Value) != string(bad.Value) {
		t.Errorf("key %q and value %q are not those of the record", got[0].Key, got[0].Value)
	}
	headers := headersOf(got[0])
	if !strings.Contains(headers[runtime.HeaderError], "23514") {
		t.Errorf("error is %q, want the check's", headers[runtime.HeaderError])
	}
	delete(headers, runtime.HeaderError)
	want := map[string]string{
		"traceparent":                   "00-1",
		runtime.HeaderOriginalTopic:     w.topic,
		runtime.HeaderOriginalPartition: fmt.Sprint(bad.Partition),
		runtime.HeaderOriginalOffset:    fmt.Sprint(bad.Offset),
		runtime.HeaderOriginalTimestamp: fmt.Sprint(bad.Timestamp.UnixMilli()),
		runtime.HeaderGroup:             w.group,
		runtime.HeaderAttempt:           "1",
		runtime.HeaderEventID:           events[20].EventID.String(),
	}
	if !maps.Equal(headers, want) {
		t.Errorf("headers are %v, want %v", headers, want)
	}
	if len(got[0].Headers) != len(want)+1 {
		t.Errorf("a header is there twice: %v", got[0].Headers)
	}
	if n := r.Stats().DeadLettered; n != 1 {
		t.Errorf("%d dead letters counted, want 1", n)
	}
}

// TestAFailedRecordThatCannotBeWrittenStopsThePartitionUntilItCan takes away what failed
// records are written to, in the three ways there are.
func TestAFailedRecordThatCannotBeWrittenStopsThePartitionUntilItCan(t *testing.T) {
	fault := func(w *world, topic string) (mend func()) {
		return w.kafka.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: kerr.NotEnoughReplicas, Count: -1}).Remove
	}
	for name, tc := range map[string]struct {
		take func(*world, *runtime.Config) (mend func())
		left func(*world, runtime.Config) []string // event ids
	}{
		"the dead letter topic": {
			func(w *world, cfg *runtime.Config) func() { return fault(w, cfg.DeadLetterTopic) },
			func(w *world, cfg runtime.Config) []string { return w.failedIn(cfg.DeadLetterTopic) },
		},
		"a retry topic": {
			func(w *world, cfg *runtime.Config) func() {
				cfg.RetryTopics = []runtime.RetryTopic{{Topic: w.kafka.Topic(t, 1), Delay: time.Hour}}
				return fault(w, cfg.RetryTopics[0].Topic)
			},
			func(w *world, cfg runtime.Config) []string { return w.failedIn(cfg.RetryTopics[0].Topic) },
		},
		"the outbox": {
			func(w *world, cfg *runtime.Config) func() {
				cfg.DeadLetterOutbox = true
				w.exec(`ALTER TABLE outbox_message ADD CONSTRAINT down CHECK (false)`)
				return func() { w.exec(`ALTER TABLE outbox_message DROP CONSTRAINT down`) }
			},
			func(w *world, _ runtime.Config) (ids []string) {
				if n := w.count(`SELECT count(*) FROM outbox_message`); n != 1 {
					w.Errorf("%d messages in the outbox, want 1", n)
				}
				return nil
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorldOn(t, testpg.New(t), testkafka.Start(t, testkafka.Options{FakeOnly: true}), 2)
			events := orders(60, 6)
			events[30].Amount = -1
			w.produce(events...)
			bad := record(w.topic, 2, events[30]).Partition
			before := int64(0)
			for _, e := range events[:30] {
				if record(w.topic, 2, e).Partition == bad {
					before++
				}
			}
			cfg, _ := w.deadLettered()
			cfg.BatchTimeout, cfg.MaxAttempts = 400*time.Millisecond, 1
			mend := tc.take(w, &cfg)
			r := w.start(cfg, handling(failNegative)(w))
			w.eventually("an alarm about the dead letter", func() bool { return len(w.alarmsOf(runtime.AlarmDeadLetter)) > 0 })
			w.eventually("the partition is paused", func() bool { return len(r.Paused()[w.topic]) == 1 })
			ends, err := w.kafka.EndOffsets(t.Context(), w.topic)
			if err != nil {
				t.Fatal(err)
			}
			w.eventually("the other partition goes on", func() bool { return w.committed()[1-bad] == ends[1-bad] })
			if at := w.committed()[bad]; at > before {
				t.Errorf("offset %d is committed although record %d is nowhere", at, before)
			}
			if a := w.alarmsOf(runtime.AlarmDeadLetter)[0]; a.Offset != before || a.EventID != events[30].EventID {
				t.Errorf("alarm is %+v, want offset %d", a, before)
			}
			mend()
			w.caughtUp()
			w.exactly(59)
			for _, id := range tc.left(w, cfg) {
				if id != events[30].EventID.String() {
					t.Errorf("event %s is written as failed", id)
				}
			}
		})
	}
}

// failedIn answers the ids of the failed events that a topic holds, of which there must be
// one at least.
func (w *world) failedIn(topic string) (ids []string) {
	w.Helper()
	for _, rec := range w.contents(topic) {
		ids = append(ids, headersOf(rec)[runtime.HeaderEventID])
	}
	if len(ids) == 0 {
		w.Errorf("topic %s holds nothing", topic)
	}
	return ids
}

// recreate deletes a topic, and creates it again once it has been missed.
func (w *world) recreate(topic string, meanwhile func(), missed func() bool) {
	w.Helper()
	if _, err := w.admin.DeleteTopic(context.Background(), topic); err != nil {
		w.Fatal(err)
	}
	meanwhile()
	w.eventually("the topic is missed", missed)
	if _, err := w.admin.CreateTopic(context.Background(), 2, 1, nil, topic); err != nil {
		w.Fatal(err)
	}
}

// TestADeadLetterTopicThatIsCreatedAgainIsWrittenToAgain deletes the topic once the
// consumer knows it.
func TestADeadLetterTopicThatIsCreatedAgainIsWrittenToAgain(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(12, 4)
	for i := range events {
		events[i].Amount = -1
	}
	w.produce(events[:6]...)
	cfg, dlq := w.deadLettered()
	w.start(cfg, w.queued)
	w.caughtUp()
	w.recreate(dlq, func() { w.produce(events[6:]...) }, func() bool { return len(w.alarmsOf(runtime.AlarmDeadLetter)) > 0 })
	w.caughtUp()
	if n := len(w.contents(dlq)); n != 6 {
		t.Errorf("%d dead letters are in the new topic, want 6", n)
	}
}

// TestARecordAsLargeAsABrokerTakesBecomesADeadLetter writes one that is larger than what
// franz-go sends by default, but not than what other clients and brokers do.
func TestARecordAsLargeAsABrokerTakesBecomesADeadLetter(t *testing.T) {
	w := newWorld(t, 1)
	send := w.kafka.Client(t, kgo.ProducerBatchMaxBytes(1048588), kgo.ProducerBatchCompression(kgo.NoCompression()))
	value := fmt.Sprintf(`{"eventId": %q, "key": %q, "amount": -1}`, uuid.Must(uuid.NewV7()), strings.Repeat("x", 1_020_000))
	if err := send.ProduceSync(t.Context(), &kgo.Record{Topic: w.topic, Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	cfg, dlq := w.deadLettered()
	w.start(cfg, w.queued)
	w.caughtUp()
	if got := w.contents(dlq); len(got) != 1 || string(got[0].Value) != value {
		t.Errorf("%d dead letters, want the one", len(got))
	}
}

// TestACrashAroundADeadLetterLosesNothing crashes before and after the write. The record
// may then be a dead letter twice, but never none.
func TestACrashAroundADeadLetterLosesNothing(t *testing.T) {
	for step, want := range map[seam.Step][]int{
		seam.BeforeDeadLetter: {1}, seam.AfterDeadLetter: {2},
		// What is completed may be committed before the consumer dies, but need not.
		seam.AfterWatermark: {1, 2},
	} {
		t.Run(step.String(), func(t *testing.T) {
			w := newWorld(t, 1)
			w.monotone()
			events := orders(20, 2)
			events[10].Amount = -1
			w.produce(events...)
			cfg, dlq := w.deadLettered()
			ctx := seam.With(context.Background(), func(s seam.Step) error {
				if s == step {
					return seam.ErrCrash
				}
				return nil
			})
			if err := w.startWith(ctx, cfg, w.queued).wait(); !errors.Is(err, seam.ErrCrash) {
				t.Fatalf("Run returned %v, want a crash", err)
			}
			if at := w.committed()[0]; at > 10 && step != seam.AfterWatermark {
				t.Errorf("offset %d is committed by a consumer that died", at)
			}
			w.start(cfg, w.queued)
			w.caughtUp()
			w.exactly(19)
			if n := len(w.contents(dlq)); !slices.Contains(want, n) {
				t.Errorf("%d dead letters, want one of %d", n, want)
			}
		})
	}
}

// TestWhichFailuresAreTriedAgainBeforeTheyAreDeadLetters counts the calls of a handler for
// one bad record among ten.
func TestWhichFailuresAreTriedAgainBeforeTheyAreDeadLetters(t *testing.T) {
	boom := errors.New("no such customer")
	refusedConnection := &net.OpError{Op: "dial", Err: errors.New("refused")}
	failing := func(err error) func(context.Context, pgx.Tx, runtime.Event[order], int) error {
		return func(context.Context, pgx.Tx, runtime.Event[order], int) error { return err }
	}
	check := func(wrap error) func(context.Context, pgx.Tx, runtime.Event[order], int) error {
		return func(ctx context.Context, tx pgx.Tx, e runtime.Event[order], _ int) error {
			if err := insertOrder(ctx, tx, e); wrap != nil {
				return fmt.Errorf("%w: %w", wrap, err)
			} else {
				return err
			}
		}
	}
	for name, tc := range map[string]struct {
		fail    func(ctx context.Context, tx pgx.Tx, e runtime.Event[order], call int) error
		attempt string // of the dead letter, empty if there is to be none
		retries int64
	}{
		"a handler's own error":            {failing(boom), "4", 3},
		"a panic":                          {func(context.Context, pgx.Tx, runtime.Event[order], int) error { panic(boom) }, "4", 3},
		"an error marked as permanent":     {failing(fmt.Errorf("%w: %w", runtime.ErrPermanent, boom)), "1", 0},
		"a refused connection, so marked":  {failing(fmt.Errorf("%w: %w", runtime.ErrPermanent, refusedConnection)), "1", 0},
		"a data error":                     {check(nil), "1", 0},
		"a data error marked as transient": {check(runtime.ErrTransient), "4", 3},
		"a swallowed data error": {func(ctx context.Context, tx pgx.Tx, e runtime.Event[order], _ int) error {
			_ = insertOrder(ctx, tx, e)
			return nil
		}, "1", 0},
		"an error that passes at the 3rd try": {failingUntil(4, boom), "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			events := orders(10, 2)
			events[5].Amount = -1
			w.produce(events...)
			cfg, dlq := w.deadLettered()
			cfg.MaxAttempts = 4
			var calls atomic.Int64
			r := w.start(cfg, func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					if e.Payload.Amount < 0 {
						return tc.fail(ctx, tx, e, int(calls.Add(1)))
					}
					return insertOrder(ctx, tx, e)
				})
			})
			w.caughtUp()
			w.exactly(9)
			w.orderedPerKey()
			var attempts []string
			for _, rec := range w.contents(dlq) {
				attempts = append(attempts, headersOf(rec)[runtime.HeaderAttempt])
			}
			if got := strings.Join(attempts, " "); got != tc.attempt {
				t.Errorf("dead letters of attempts %q, want %q", got, tc.attempt)
			}
			if got := r.Stats().RecordRetries; got != tc.retries {
				t.Errorf("%d retries of the record, want %d", got, tc.retries)
			}
		})
	}
}

// failingUntil fails a handler's first calls; the first one is that of the whole batch.
func failingUntil(call int, err error) func(context.Context, pgx.Tx, runtime.Event[order], int) error {
	return func(_ context.Context, _ pgx.Tx, _ runtime.Event[order], n int) error {
		if n < call {
			return err
		}
		return nil
	}
}

func TestAnUndecodableRecordIsADeadLetterAtOnce(t *testing.T) {
	w := newWorld(t, 1)
	w.produceRecords(&kgo.Record{Topic: w.topic, Value: []byte("no JSON")}, &kgo.Record{Topic: w.topic}, &kgo.Record{Topic: w.topic, Value: []byte("{}")})
	cfg, dlq := w.deadLettered()
	r := w.start(cfg, w.queued)
	w.caughtUp()
	got := w.contents(dlq)
	if len(got) != 3 || r.Stats().RecordRetries != 0 {
		t.Fatalf("%d dead letters after %d retries, want 3 after none", len(got), r.Stats().RecordRetries)
	}
	if got[1].Value != nil {
		t.Errorf("a tombstone became %q", got[1].Value)
	}
	if id, there := headersOf(got[2])[runtime.HeaderEventID]; there {
		t.Errorf("the record has no event id, and the header says %q", id)
	}
}

func TestARecordThatWaitsForAnotherTryIsNotGivenUpAtShutdown(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(3, 1)
	events[1].Amount = -1
	w.produce(events...)
	cfg, dlq := w.deadLettered()
	cfg.BackoffMin, cfg.BackoffMax = time.Hour, time.Hour
	r := w.start(cfg, handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		if e.Payload.Amount < 0 {
			return errors.New("no such customer")
		}
		return insertOrder(ctx, tx, e)
	})(w))
	w.eventually("it waits", func() bool { return r.Stats().RecordRetries == 1 })
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if n := len(w.contents(dlq)); n != 0 {
		t.Errorf("%d dead letters after one attempt of three", n)
	}
}

func TestAConsumerDoesNotStartWithADeadLetterTopicThatCannotWork(t *testing.T) {
	w := newWorld(t, 1)
	for name, change := range map[string]func(*runtime.Config){
		"missing":           func(c *runtime.Config) { c.DeadLetterTopic = w.topic + "-missing" },
		"that is consumed":  func(c *runtime.Config) { c.DeadLetterTopic = w.topic },
		"of manual flushes": func(c *runtime.Config) { c.KafkaOptions = append(c.KafkaOptions, kgo.ManualFlushing()) },
		"in a transaction":  func(c *runtime.Config) { c.KafkaOptions = append(c.KafkaOptions, kgo.TransactionalID("x")) },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := w.config()
			cfg.DeadLetterTopic = w.kafka.Topic(t, 1)
			change(&cfg)
			if err := w.start(cfg, w.queued).wait(); err == nil {
				t.Error("Run returned nil")
			}
		})
	}
	cfg := w.config()
	cfg.DeadLetter, cfg.DeadLetterTopic = &shelf{}, "dlq"
	if _, err := runtime.New(w.pool, cfg); err == nil {
		t.Error("two dead letters were accepted")
	}
}
