package runtime_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// forget makes a log lose its beginning, as its retention does.
func (w *world) forget(before int64) {
	w.Helper()
	var offsets kadm.Offsets
	offsets.AddOffset(w.topic, 0, before, -1)
	deleted, err := w.admin.DeleteRecords(w.Context(), offsets)
	if err == nil {
		err = deleted.Error()
	}
	if err != nil {
		w.Fatal(err)
	}
}

// TestALogThatLosesItsBeginningUnreadStopsThePartitionWithAnAlarm has a group stand at
// its first record, with and without one processed before, when the record goes.
func TestALogThatLosesItsBeginningUnreadStopsThePartitionWithAnAlarm(t *testing.T) {
	for _, at := range []int{0, 5} {
		for _, protocol := range protocols {
			t.Run(fmt.Sprintf("%s/at offset %d", protocolName(protocol), at), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, 1)
				events := orders(20, 1)
				events[at].Amount = -1
				w.produce(events...)
				cfg := w.config()
				cfg.Protocol = protocol
				r := w.start(cfg, w.ledger)
				w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) == 1 })
				if err := r.stop(); err != nil {
					t.Fatal(err)
				}
				w.forget(10)
				w.start(cfg, w.ledger)
				w.eventually("the partition stops again", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) == 2 })
				a := w.alarmsOf(runtime.AlarmPartitionStopped)[1]
				if !errors.Is(a.Err, kerr.OffsetOutOfRange) || a.Offset != int64(at) {
					t.Errorf("alarm is about offset %d: %v, want %d out of range", a.Offset, a.Err, at)
				}
				if w.count(`SELECT count(*) FROM ledger`) != at {
					t.Error("records behind the gap were processed")
				}
			})
		}
	}
}

// TestAPartitionThatCannotBeFetchedRaisesAnAlarmAndIsTriedAgainEverMoreSeldom counts
// the fetches that fail between the alarm and the repair.
func TestAPartitionThatCannotBeFetchedRaisesAnAlarmAndIsTriedAgainEverMoreSeldom(t *testing.T) {
	for _, fault := range []*kerr.Error{kerr.TopicAuthorizationFailed, kerr.UnknownServerError, kerr.UnsupportedCompressionType, kerr.CorruptMessage} {
		t.Run(fault.Message, func(t *testing.T) {
			t.Parallel()
			w := newWorldOn(t, testpg.New(t), testkafka.Start(t, testkafka.Options{FakeOnly: true}), 2)
			cfg := w.config()
			cfg.BackoffMax = 10 * time.Second
			w.produce(orders(20, 8)...)
			w.start(cfg, w.queued)
			w.caughtUp()
			var fetches atomic.Int64
			w.kafka.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{0}, Err: fault, Count: -1,
				When: func(kmsg.Request) bool { fetches.Add(1); return true }})
			w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmFetch)) > 0 })
			if a := w.alarmsOf(runtime.AlarmFetch)[0]; a.Topic != w.topic || a.Partition != 0 || !errors.Is(a.Err, fault) {
				t.Errorf("alarm is %+v, want %v of partition 0", a, fault)
			}
			if n := fetches.Load(); n > 100 {
				t.Errorf("%d fetches failed before the alarm", n)
			}
			t.Logf("%d fetches, %d alarms", fetches.Load(), len(w.alarmsOf(runtime.AlarmFetch)))
		})
	}
}

func TestAPartitionThatCanBeFetchedAgainGoesOn(t *testing.T) {
	w := newWorldOn(t, testpg.New(t), testkafka.Start(t, testkafka.Options{FakeOnly: true}), 2)
	w.produce(orders(20, 8)...)
	w.start(w.config(), w.queued)
	w.caughtUp()
	w.kafka.Fake().Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Partitions: []int32{0}, Err: kerr.TopicAuthorizationFailed, Count: 10})
	w.produce(orders(20, 8)...)
	w.caughtUp()
	w.exactly(40)
}

func TestATopicThatDoesNotExistRaisesAnAlarm(t *testing.T) {
	w := newWorld(t, 1)
	w.topic = "mispelled-" + w.group
	w.start(w.config(), w.queued)
	w.eventually("an alarm", func() bool { return len(w.alarmsOf(runtime.AlarmFetch)) > 0 })
	if a := w.alarmsOf(runtime.AlarmFetch)[0]; a.Topic != w.topic || !errors.Is(a.Err, kerr.UnknownTopicOrPartition) {
		t.Errorf("alarm is %+v, want UNKNOWN_TOPIC_OR_PARTITION of %s", a, w.topic)
	}
}

func TestGroupOptionsOfTheUsersMakeNoSecondMember(t *testing.T) {
	w := newWorld(t, 4)
	w.produce(orders(80, 16)...)
	cfg := w.config()
	cfg.KafkaOptions = append(cfg.KafkaOptions, kgo.ConsumerGroup(w.group), kgo.ConsumeTopics(w.topic), kgo.AutoCommitInterval(time.Second))
	w.start(cfg, w.queued)
	w.caughtUp()
	w.exactly(80)
}

func TestOptionsThatCannotBeOverriddenAreRefused(t *testing.T) {
	for name, with := range map[string]func(*runtime.Config){
		"patterns":           func(c *runtime.Config) { c.KafkaOptions = append(c.KafkaOptions, kgo.ConsumeRegex()) },
		"long revocations":   func(c *runtime.Config) { c.RevokeTimeout = 10 * time.Minute },
		"commits of its own": func(c *runtime.Config) { c.KafkaOptions = append(c.KafkaOptions, kgo.AutoCommitMarks()) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			cfg := w.config()
			with(&cfg)
			if err := w.start(cfg, w.queued).wait(); err == nil {
				t.Error("Run answered nil")
			}
			w.noGoroutines()
		})
	}
}

func TestATransactionMarkerAtTheEndIsNoLag(t *testing.T) {
	for name, commit := range map[string]kgo.TransactionEndTry{"committed": kgo.TryCommit, "aborted": kgo.TryAbort} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.produce(orders(1, 1)...)
			r := w.start(w.config(), w.queued)
			w.caughtUp()
			producer := w.kafka.Client(t, kgo.TransactionalID(w.group), kgo.RecordPartitioner(kgo.ManualPartitioner()))
			if err := producer.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
			if err := producer.ProduceSync(t.Context(), record(w.topic, 1, orders(1, 1)[0])).FirstErr(); err != nil {
				t.Fatal(err)
			}
			if err := producer.EndTransaction(t.Context(), commit); err != nil {
				t.Fatal(err)
			}
			if commit {
				w.eventually("the record is committed", func() bool { return w.committed()[0] == 2 })
			}
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			since := time.Now()
			w.start(w.config(), w.queued)
			w.eventually("the group reports the present", func() bool { return w.reported().After(since) })
		})
	}
}
