package runtime_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
)

// configure sets an option of a topic.
func (w *world) configure(topic, key, value string) {
	w.Helper()
	responses, err := w.admin.AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Name: key, Value: &value}}, topic)
	if err != nil {
		w.Fatal(err)
	}
	for _, r := range responses {
		if r.Err != nil {
			w.Fatalf("configuring topic %s: %v", r.Name, r.Err)
		}
	}
}

// replayable answers a configuration with dead letters that can be replayed, and how.
func (w *world) replayable() (runtime.Config, runtime.ReplayConfig) {
	w.Helper()
	cfg, dlq := w.deadLettered()
	cfg.ReplayTopic = w.kafka.Topic(w, 1)
	return cfg, runtime.ReplayConfig{
		Brokers: w.kafka.Brokers(), Group: w.group, DeadLetterTopic: dlq, ReplayTopic: cfg.ReplayTopic,
		Rate: 1e6, Logger: logger(),
	}
}

func replayed(t *testing.T, cfg runtime.ReplayConfig) runtime.Replayed {
	t.Helper()
	done, err := runtime.Replay(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// TestADeadLetterThatIsReplayedTwiceIsProcessedOnceAndByItsGroupOnly mends what the
// records failed by, and lets a second group watch.
func TestADeadLetterThatIsReplayedTwiceIsProcessedOnceAndByItsGroupOnly(t *testing.T) {
	w := newWorld(t, 2)
	events := orders(40, 4)
	for i := range 5 {
		events[8*i].Amount = -1
	}
	w.produce(events...)
	cfg, how := w.replayable()
	r := w.start(cfg, w.queued)
	w.caughtUp()
	w.exactly(35)
	var others atomic.Int64
	second := w.config()
	second.Group, second.DeadLetter = w.kafka.Group(), &shelf{}
	w.start(second, func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(context.Context, pgx.Tx, runtime.Event[order]) error { others.Add(1); return nil })
	})
	w.eventually("the second group has all", func() bool { return others.Load() == 40 })

	w.exec(`ALTER TABLE ledger DROP CONSTRAINT positive`)
	for round := range 2 {
		if done := replayed(t, how); done != (runtime.Replayed{Read: 5, Selected: 5, Written: 5}) {
			t.Errorf("round %d replayed %+v, want 5 of 5", round, done)
		}
	}
	w.eventually("both replays are through", func() bool { return w.committedTo(cfg.ReplayTopic) == 10 })
	w.exactly(40)
	if s := r.Stats(); s.Duplicates != 5 || s.DeadLettered != 5 {
		t.Errorf("stats are %+v, want 5 duplicates and no more dead letters", s)
	}
	if n := others.Load(); n != 40 {
		t.Errorf("the second group has run its handler %d times for 40 events", n)
	}
}

func TestADeadLetterThatFailsAgainIsOneAgain(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(3, 1)
	events[1].Amount = -1
	w.produce(events...)
	cfg, how := w.replayable()
	cfg.RetryTopics = []runtime.RetryTopic{{Topic: w.kafka.Topic(t, 1), Delay: time.Hour}}
	cfg.DeadLetterMaxAge = time.Hour
	r := w.start(cfg, w.queued)
	w.caughtUp()
	replayed(t, how)
	w.eventually("it has failed again", func() bool { return r.Stats().DeadLettered == 2 })
	got := w.contents(cfg.DeadLetterTopic)
	if len(got) != 2 {
		t.Fatalf("%d dead letters, want 2", len(got))
	}
	headers := headersOf(got[1])
	if headers[runtime.HeaderAttempt] != "2" || headers[runtime.HeaderOriginalTopic] != w.topic || headers[runtime.HeaderOriginalOffset] != "1" {
		t.Errorf("headers are %v, want the second attempt at where it came from first", headers)
	}
}

// TestReplaySelects writes dead letters by hand, in order, and asks for some of them.
func TestReplaySelects(t *testing.T) {
	w := newWorld(t, 1)
	_, how := w.replayable()
	began := time.UnixMilli(time.Now().UnixMilli()).Add(-time.Hour)
	ids := make([]uuid.UUID, 6)
	for i := range ids {
		ids[i] = uuid.Must(uuid.NewV7())
		group, why := w.group, "no such customer"
		if i == 2 {
			group = "another"
		}
		if i == 3 {
			why = "ERROR: violates check constraint (SQLSTATE 23514)"
		}
		w.produceRecords(&kgo.Record{
			Topic: how.DeadLetterTopic, Key: []byte{byte('0' + i)}, Value: []byte("{}"), Timestamp: began.Add(time.Duration(i) * time.Minute),
			Headers: []kgo.RecordHeader{
				{Key: runtime.HeaderGroup, Value: []byte(group)}, {Key: runtime.HeaderError, Value: []byte(why)},
				{Key: runtime.HeaderEventID, Value: []byte(ids[i].String())},
			},
		})
	}
	for name, tc := range map[string]struct {
		narrow func(*runtime.ReplayConfig)
		want   string
	}{
		"all of the group": {func(*runtime.ReplayConfig) {}, "01345"},
		"since":            {func(c *runtime.ReplayConfig) { c.Since = began.Add(time.Minute) }, "1345"},
		"until":            {func(c *runtime.ReplayConfig) { c.Until = began.Add(3 * time.Minute) }, "01"},
		"by error":         {func(c *runtime.ReplayConfig) { c.Error = "23514" }, "3"},
		"by id":            {func(c *runtime.ReplayConfig) { c.EventIDs = []uuid.UUID{ids[4], ids[2], ids[0]} }, "04"},
		"by hand":          {func(c *runtime.ReplayConfig) { c.Select = func(r *kgo.Record) bool { return r.Key[0] > '3' } }, "45"},
		"by two of them": {func(c *runtime.ReplayConfig) {
			c.Since, c.Error = began.Add(time.Minute), "customer"
		}, "145"},
		"none":             {func(c *runtime.ReplayConfig) { c.Since = time.Now() }, ""},
		"but in a dry run": {func(c *runtime.ReplayConfig) { c.DryRun = true }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := how
			cfg.ReplayTopic = w.kafka.Topic(t, 1)
			tc.narrow(&cfg)
			done := replayed(t, cfg)
			var keys bytes.Buffer
			for _, rec := range w.contents(cfg.ReplayTopic) {
				keys.Write(rec.Key)
			}
			if keys.String() != tc.want || done.Written != len(tc.want) {
				t.Errorf("replayed %q (%+v), want %q", keys.String(), done, tc.want)
			}
			if cfg.DryRun && done.Selected != 5 {
				t.Errorf("a dry run selected %d, want 5", done.Selected)
			}
		})
	}
}

func TestEveryReplayedRecordLeavesALineOfAudit(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(3, 1)
	events[1].Amount = -1
	w.produce(events...)
	cfg, how := w.replayable()
	w.start(cfg, w.queued)
	w.caughtUp()
	var audit bytes.Buffer
	how.Logger = slog.New(slog.NewTextHandler(&audit, nil))
	replayed(t, how)
	lines := strings.Split(strings.TrimSpace(audit.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("audit is %q, want a line for the record and one for the whole", lines)
	}
	for _, part := range []string{events[1].EventID.String(), w.group, w.topic, "offset=1", "dry_run=false", "23514"} {
		if !strings.Contains(lines[0], part) {
			t.Errorf("line %q does not hold %q", lines[0], part)
		}
	}
}

func TestAReplayKeepsToItsRateAndCanBeBrokenOff(t *testing.T) {
	w := newWorld(t, 1)
	_, how := w.replayable()
	for range 6 {
		w.produceRecords(&kgo.Record{Topic: how.DeadLetterTopic, Headers: []kgo.RecordHeader{{Key: runtime.HeaderGroup, Value: []byte(w.group)}}})
	}
	how.Rate = 50
	began := time.Now()
	replayed(t, how)
	if took := time.Since(began); took < 100*time.Millisecond { // five waits of 20 ms
		t.Errorf("six records took %s at 50 a second", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	how.Rate = 0.001
	how.Select = func(*kgo.Record) bool { cancel(); return true }
	done, err := runtime.Replay(ctx, how)
	if err == nil || done.Written > 1 {
		t.Errorf("broken off, it answered %v after %d records", err, done.Written)
	}
}

func TestAReplayThatCannotWorkIsRefused(t *testing.T) {
	good := runtime.ReplayConfig{Brokers: []string{"localhost:1"}, Group: "g", DeadLetterTopic: "a", ReplayTopic: "b"}
	for name, spoil := range map[string]func(*runtime.ReplayConfig){
		"no brokers":     func(c *runtime.ReplayConfig) { c.Brokers = nil },
		"no group":       func(c *runtime.ReplayConfig) { c.Group = "" },
		"one topic":      func(c *runtime.ReplayConfig) { c.ReplayTopic = "a" },
		"no topic":       func(c *runtime.ReplayConfig) { c.ReplayTopic = "" },
		"a rate below 0": func(c *runtime.ReplayConfig) { c.Rate = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := good
			spoil(&cfg)
			if _, err := runtime.Replay(t.Context(), cfg); err == nil {
				t.Error("it was accepted")
			}
		})
	}
}
