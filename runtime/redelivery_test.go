package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

// tiered answers a configuration with retry topics of these delays, at each of which a
// record is tried once, and a dead letter topic.
func (w *world) tiered(delays ...time.Duration) (cfg runtime.Config, dlq string) {
	w.Helper()
	cfg, dlq = w.deadLettered()
	cfg.MaxAttempts = 1
	for _, d := range delays {
		cfg.RetryTopics = append(cfg.RetryTopics, runtime.RetryTopic{Topic: w.kafka.Topic(w, 1), Delay: d})
	}
	return cfg, dlq
}

var errNoCustomer = errors.New("no such customer")

// failNegative is insertOrder, but what is negative fails by an error that may pass.
func failNegative(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
	if e.Payload.Amount < 0 {
		return errNoCustomer
	}
	return insertOrder(ctx, tx, e)
}

// committedTo answers how far the group has got in a topic of one partition.
func (w *world) committedTo(topic string) int64 {
	w.Helper()
	at, err := w.kafka.Committed(context.Background(), w.group, topic)
	if err != nil {
		return -1
	}
	return at[0]
}

func TestARecordThatKeepsFailingGoesThroughTheRetryTopicsToTheDeadLetters(t *testing.T) {
	w := newWorld(t, 2)
	events := orders(40, 4)
	events[20].Amount = -1
	w.produce(events...)
	cfg, dlq := w.tiered(60*time.Millisecond, 120*time.Millisecond)
	var mu sync.Mutex
	var tries []time.Time
	var seen []*kgo.Record
	r := w.start(cfg, handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		if e.Payload.Amount < 0 {
			mu.Lock()
			defer mu.Unlock()
			tries, seen = append(tries, time.Now()), append(seen, e.Record)
		}
		return failNegative(ctx, tx, e)
	})(w))
	w.caughtUp()
	w.eventually("it is a dead letter", func() bool { return r.Stats().DeadLettered == 1 })
	w.exactly(39)
	got := w.contents(dlq)
	if len(got) != 1 {
		t.Fatalf("%d dead letters, want 1", len(got))
	}
	headers := headersOf(got[0])
	first := seen[0]
	if headers[runtime.HeaderAttempt] != "3" || headers[runtime.HeaderOriginalTopic] != w.topic ||
		headers[runtime.HeaderOriginalOffset] != fmt.Sprint(first.Offset) || len(got[0].Headers) != 8 {
		t.Errorf("headers are %v, want the third attempt at offset %d of the first topic", headers, first.Offset)
	}
	last := len(seen) - 1 // the first tries are those of whole batches
	if again := seen[last]; again.Topic != first.Topic || again.Partition != first.Partition || again.Offset != first.Offset ||
		!again.Timestamp.Equal(first.Timestamp) || len(again.Headers) != 0 || string(again.Key) != string(first.Key) {
		t.Errorf("the handler got %+v from the retry topic, want %+v", again, first)
	}
	if waited := tries[last].Sub(tries[last-1]); waited < 120*time.Millisecond {
		t.Errorf("the second delay was %s", waited)
	}
	if waited := tries[last-1].Sub(tries[last-2]); waited < 60*time.Millisecond {
		t.Errorf("the first delay was %s", waited)
	}
	if s := r.Stats(); s.Delayed != 2 || s.Duplicates != 0 {
		t.Errorf("stats are %+v, want 2 delayed", s)
	}
}

func TestAFailureThatCannotPassSkipsTheRetryTopics(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(4, 1)
	events[1].Amount = -1
	w.produce(events...)
	w.produceRecords(&kgo.Record{Topic: w.topic, Value: []byte("no JSON")})
	cfg, dlq := w.tiered(time.Hour)
	r := w.start(cfg, w.queued)
	w.caughtUp()
	if n := len(w.contents(dlq)); n != 2 || r.Stats().Delayed != 0 {
		t.Errorf("%d dead letters and %d delayed, want 2 and none", n, r.Stats().Delayed)
	}
}

// comingBack is what the runtime writes to a retry topic for a record that failed.
func (w *world) comingBack(retry string, rec *kgo.Record, offset int) *kgo.Record {
	back := &kgo.Record{Topic: retry, Key: rec.Key, Value: rec.Value}
	for key, value := range map[string]string{
		runtime.HeaderGroup: w.group, runtime.HeaderOriginalTopic: rec.Topic, runtime.HeaderOriginalPartition: "0",
		runtime.HeaderOriginalOffset: fmt.Sprint(offset), runtime.HeaderOriginalTimestamp: "1796000000123", runtime.HeaderAttempt: "1",
	} {
		back.Headers = append(back.Headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	return back
}

// TestRecordsOfSeveralTopicsComeBackInOneBatch mixes topics whose handlers have other
// types, and lets one record fail by a queued statement, which is noticed only when all
// have been run.
func TestRecordsOfSeveralTopicsComeBackInOneBatch(t *testing.T) {
	type refund struct {
		EventID uuid.UUID `json:"eventId"`
		Amount  int       `json:"amount"`
		Reason  string    `json:"reason"`
	}
	w := newWorld(t, 1)
	refunds := w.kafka.Topic(t, 1)
	w.exec(`CREATE TABLE refund (event_id uuid NOT NULL, amount int NOT NULL, reason text NOT NULL CHECK (reason = 'late'))`)
	cfg, dlq := w.tiered(time.Millisecond)
	events := orders(12, 12)
	events[4].Amount = -1
	events[11] = events[2] // a repeat
	for i, o := range events {
		rec := record(w.topic, 1, o)
		if i%2 == 1 && i != 11 {
			rec = record(refunds, 1, o)
			rec.Value = []byte(fmt.Sprintf(`{"eventId": %q, "amount": %d, "reason": "late"}`, o.EventID, i))
		}
		if i == 7 {
			rec.Value = []byte("no JSON")
		}
		w.produceRecords(w.comingBack(cfg.RetryTopics[0].Topic, rec, i))
	}
	cfg.Linger = 300 * time.Millisecond // one batch
	r := w.start(cfg, func(c *runtime.Consumer) {
		w.queued(c)
		runtime.HandleBatch(c, refunds, func(ctx context.Context, tx pgx.Tx, es []runtime.Event[refund]) error {
			for _, e := range es {
				if err := runtime.Queue(ctx, tx, `INSERT INTO refund VALUES ($1, $2, $3)`, e.ID, e.Payload.Amount, e.Payload.Reason); err != nil {
					return err
				}
			}
			return nil
		})
	})
	w.eventually("all are through", func() bool { return w.committedTo(cfg.RetryTopics[0].Topic) == 12 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	w.exactly(5)
	if n := w.count(`SELECT count(DISTINCT (event_id, amount)) FROM refund`); n != 4 || w.count(`SELECT count(*) FROM refund`) != 4 {
		t.Errorf("%d refunds, want 4", n)
	}
	offsets := map[string]bool{}
	for _, rec := range w.contents(dlq) {
		offsets[headersOf(rec)[runtime.HeaderOriginalOffset]] = true
	}
	if len(offsets) != 2 || !offsets["4"] || !offsets["7"] {
		t.Errorf("dead letters of offsets %v, want 4, which PostgreSQL refuses, and 7, which is no JSON", offsets)
	}
	if s := r.Stats(); s.Duplicates != 1 || s.DeadLettered != 2 {
		t.Errorf("stats are %+v, want a duplicate and two dead letters", s)
	}
}

func TestWhileARecordWaitsEverythingElseGoesOn(t *testing.T) {
	w := newWorld(t, 2)
	events := orders(40, 4)
	events[3].Amount = -1
	w.produce(events...)
	cfg, _ := w.tiered(time.Hour)
	r := w.start(cfg, handling(failNegative)(w))
	w.caughtUp()
	retry := cfg.RetryTopics[0].Topic
	w.eventually("the retry topic is paused", func() bool { return len(r.Paused()[retry]) == 1 })
	for range 3 {
		w.produce(orders(20, 4)...)
		w.caughtUp()
	}
	if n := w.count(`SELECT count(*) FROM ledger`); n != 99 {
		t.Errorf("%d effects, want 99", n)
	}
	if at := w.committedTo(retry); at > 0 {
		t.Errorf("offset %d of the retry topic is committed while its record waits", at)
	}
	began := time.Now()
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > patience/3 {
		t.Errorf("the end took %s", took)
	}
}

func TestACrashAroundARetryTopicLosesAndDoublesNothing(t *testing.T) {
	for _, step := range seam.FailureSteps() {
		t.Run(step.String(), func(t *testing.T) {
			w := newWorld(t, 1)
			events := orders(20, 2)
			for _, i := range []int{5, 11} {
				events[i].Amount = -1
			}
			w.produce(events...)
			cfg, dlq := w.tiered(10 * time.Millisecond)
			crashes := 0
			for range 4 {
				ctx := seam.With(context.Background(), func(s seam.Step) error {
					if s == step {
						return seam.ErrCrash
					}
					return nil
				})
				r := w.startWith(ctx, cfg, handling(failNegative)(w))
				if err := r.wait(); errors.Is(err, seam.ErrCrash) {
					crashes++
				}
			}
			w.start(cfg, handling(failNegative)(w))
			w.caughtUp()
			w.eventually("all are dead letters", func() bool {
				ends, err := w.kafka.EndOffsets(context.Background(), cfg.RetryTopics[0].Topic)
				return err == nil && w.committedTo(cfg.RetryTopics[0].Topic) == ends[0]
			})
			w.exactly(18)
			ids := map[string]bool{}
			for _, rec := range w.contents(dlq) {
				ids[headersOf(rec)[runtime.HeaderEventID]] = true
			}
			if len(ids) != 2 || !ids[events[5].EventID.String()] || !ids[events[11].EventID.String()] {
				t.Errorf("dead letters of %d events, want 2", len(ids))
			}
			if crashes != 4 {
				t.Errorf("%d crashes, want 4", crashes)
			}
		})
	}
}

func TestAnEventThatIsProcessedWhileItsRecordWaitsIsADuplicate(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(1, 1)
	w.produce(events...)
	cfg, dlq := w.tiered(300 * time.Millisecond)
	var once sync.Once
	r := w.start(cfg, handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) (err error) {
		once.Do(func() { err = errNoCustomer })
		return errors.Join(err, insertOrder(ctx, tx, e))
	})(w))
	w.eventually("it waits", func() bool { return r.Stats().Delayed == 1 })
	w.produce(events...)
	w.eventually("the waiting one is found a duplicate", func() bool { return r.Stats().Duplicates == 1 })
	w.exactly(1)
	if n := len(w.contents(dlq)); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}

func TestOnlyTheGroupsOwnRecordsAreTakenFromARetryTopic(t *testing.T) {
	w := newWorld(t, 1)
	cfg, dlq := w.tiered(time.Millisecond)
	retry := cfg.RetryTopics[0].Topic
	o := orders(2, 1)
	others, bare := record(retry, 1, o[0]), record(retry, 1, o[1])
	others.Headers = []kgo.RecordHeader{{Key: runtime.HeaderGroup, Value: []byte("another")}}
	w.produceRecords(others, bare)
	r := w.start(cfg, w.queued)
	w.eventually("both are done with", func() bool { return w.committedTo(retry) == 2 })
	if s := r.Stats(); s.Skipped != 1 || s.DeadLettered != 1 || s.Processed != 0 {
		t.Errorf("stats are %+v, want one skipped and one dead letter", s)
	}
	got := w.contents(dlq)
	if len(got) != 1 || !strings.Contains(headersOf(got[0])[runtime.HeaderError], runtime.HeaderOriginalTopic) {
		t.Errorf("dead letters are %v, want the one without headers, and why", got)
	}
}

// TestAWaitingEventThatLeavesTheWindowIsQuarantined shows that what cannot be told from a
// repeat is refused however it comes.
func TestAWaitingEventThatLeavesTheWindowIsQuarantined(t *testing.T) {
	w := newWorld(t, 1)
	cfg, dlq := w.tiered(time.Millisecond)
	o := orders(1, 1)[0]
	o.EventID = runtimetest.IDAt(time.Now().Add(-30 * 24 * time.Hour))
	rec := w.comingBack(cfg.RetryTopics[0].Topic, record(w.topic, 1, o), 41)
	cfg.Window = runtime.Window{Partition: time.Hour, Retention: 24 * time.Hour}
	r := w.start(cfg, w.queued)
	// A consumer that starts behind such a record takes it for lag, and its window is wider.
	w.eventually("the group has reported", func() bool { return w.count(`SELECT count(*) FROM processed_event_group`) == 1 })
	w.produceRecords(rec)
	w.eventually("it is refused", func() bool { return r.Stats().Quarantined == 1 })
	n := w.count(`SELECT count(*) FROM quarantined_event WHERE topic = $1 AND record_offset = 41 AND reason = $2`, w.topic, string(runtime.ReasonTooOld))
	if n != 1 || len(w.contents(dlq)) != 0 {
		t.Errorf("%d rows in the quarantine, %d dead letters", n, len(w.contents(dlq)))
	}
}

func TestMarksAreKeptForWhatWaitsInARetryTopic(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(3, 1)
	made := time.Now().Add(-50 * time.Hour).Truncate(time.Millisecond)
	events[1].EventID, events[1].Amount = runtimetest.IDAt(made), -1
	w.produce(events...)
	cfg, _ := w.tiered(time.Hour)
	r := w.start(cfg, handling(failNegative)(w))
	w.caughtUp()
	w.eventually("it waits", func() bool { return r.Stats().Delayed == 1 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	w.start(cfg, handling(failNegative)(w))
	w.eventually("the group reports it as its oldest", func() bool {
		return w.count(`SELECT count(*) FROM processed_event_group WHERE oldest_uncommitted = $1`, made) == 1
	})
}

func TestAnAlarmAboutARecordOfARetryTopicNamesItsPlaceThere(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(10, 1)
	events[7].Amount = -1
	w.produce(events...)
	cfg, _ := w.tiered(10 * time.Millisecond)
	cfg.DeadLetterTopic, cfg.DeadLetter = "", &shelf{fail: func(int) error { return context.DeadlineExceeded }}
	w.start(cfg, handling(failNegative)(w))
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmDeadLetter)) > 0 })
	a := w.alarmsOf(runtime.AlarmDeadLetter)[0]
	if a.Topic != cfg.RetryTopics[0].Topic || a.Partition != 0 || a.Offset != 0 || a.EventID != events[7].EventID {
		t.Errorf("the alarm is about %s/%d/%d, event %s; want %s/0/0, event %s",
			a.Topic, a.Partition, a.Offset, a.EventID, cfg.RetryTopics[0].Topic, events[7].EventID)
	}
}

func TestAConsumerDoesNotStartWithRetriesThatCannotWork(t *testing.T) {
	w := newWorld(t, 1)
	good := func() runtime.Config {
		cfg, _ := w.tiered(time.Minute, time.Hour)
		return cfg
	}
	topicWith := func(key, value string) string {
		topic := w.kafka.Topic(t, 1)
		w.configure(topic, key, value)
		return topic
	}
	for name, change := range map[string]func(*runtime.Config){
		"marks go before the retries end": func(c *runtime.Config) { c.RetryTopics[1].Delay = 8 * 24 * time.Hour },
		"delays beyond what can be counted": func(c *runtime.Config) {
			c.RetryTopics[0].Delay, c.RetryTopics[1].Delay = math.MaxInt64, math.MaxInt64
		},
		"marks go before a dead letter's time": func(c *runtime.Config) { c.DeadLetterMaxAge = 7 * 24 * time.Hour },
		"a shorter retention": func(c *runtime.Config) {
			c.Window = runtime.Window{Retention: 2 * time.Hour, Partition: time.Hour}
			c.DeadLetterMaxAge = time.Hour
		},
		"no dead letter":      func(c *runtime.Config) { c.DeadLetterTopic = "" },
		"no delay":            func(c *runtime.Config) { c.RetryTopics[0].Delay = 0 },
		"one topic twice":     func(c *runtime.Config) { c.RetryTopics[1].Topic = c.RetryTopics[0].Topic },
		"the dead letters'":   func(c *runtime.Config) { c.RetryTopics[1].Topic = c.DeadLetterTopic },
		"the replay topic":    func(c *runtime.Config) { c.ReplayTopic = c.RetryTopics[0].Topic },
		"a handler's topic":   func(c *runtime.Config) { c.RetryTopics[0].Topic = w.topic },
		"a missing topic":     func(c *runtime.Config) { c.RetryTopics[0].Topic += "-missing" },
		"a short-lived topic": func(c *runtime.Config) { c.RetryTopics[1].Topic = topicWith("retention.ms", "60000") },
		"a compacted topic":   func(c *runtime.Config) { c.RetryTopics[1].Topic = topicWith("cleanup.policy", "compact") },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := good()
			change(&cfg)
			c, err := runtime.New(w.pool, cfg)
			if err == nil {
				w.queued(c)
				err = c.Run(t.Context())
			}
			if err == nil {
				t.Error("it ran")
			}
			t.Log(err)
		})
	}
}
