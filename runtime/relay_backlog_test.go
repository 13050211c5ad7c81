package runtime_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// blockedOutbox holds n messages of a topic that is not there, an hour old.
func blockedOutbox(t *testing.T, n int) *world {
	t.Helper()
	w := newWorldOn(t, testpg.New(t), testkafka.Start(t, testkafka.Options{FakeOnly: true}), 1)
	missing := w.kafka.Topic(t, 1) + "-missing"
	w.fill(missing, n, 1)
	w.exec(`UPDATE outbox_message SET created_at = created_at - interval '1 hour' WHERE seq = (SELECT min(seq) FROM outbox_message)`)
	return w
}

func TestARelayKnowsHowManyMessagesWaitAndSinceWhen(t *testing.T) {
	w := blockedOutbox(t, 7)
	r, _ := w.startRelay(runtime.RelayConfig{})
	w.eventually("the outbox is counted", func() bool { return !r.Stats().Backlog.Counted.IsZero() })
	got := r.Stats().Backlog
	if age := got.Counted.Sub(got.Oldest); got.Unsent != 7 || age < time.Hour || age > 2*time.Hour {
		t.Errorf("the backlog is %d messages, the first %s old; want 7 and an hour", got.Unsent, age)
	}
}

func TestARelayThatStandsByTellsNothingOfTheBacklog(t *testing.T) {
	w := blockedOutbox(t, 7)
	leader, stop := w.startRelay(runtime.RelayConfig{})
	w.eventually("it leads", func() bool { return !leader.Stats().Backlog.Counted.IsZero() })
	stop()
	if got := leader.Stats().Backlog; got != (runtime.RelayBacklog{}) {
		t.Errorf("a relay that has ended tells %+v", got)
	}
}

func TestTheBacklogOfTheOutboxIsAMetric(t *testing.T) {
	w := blockedOutbox(t, 7)
	cfg := w.relayed()
	m := w.metered(&cfg)
	w.start(cfg, w.queued)
	w.eventually("the outbox is counted", func() bool { return len(m.points("idemlint.outbox.unsent")) == 1 })
	unsent, _ := m.total("idemlint.outbox.unsent")
	if age, _ := m.total("idemlint.outbox.oldest_unsent.age"); unsent != 7 || age < 3600 {
		t.Errorf("%v messages are unsent, the first %v s old; want 7 and an hour", unsent, age)
	}
}

func TestAConsumerWithoutARelayHasNoMetricOfTheOutbox(t *testing.T) {
	w := newWorld(t, 1)
	cfg := w.config()
	m := w.metered(&cfg)
	r := w.start(cfg, w.queued)
	w.eventually("readiness", r.isReady)
	if n := len(m.points("idemlint.outbox.unsent")); n != 0 {
		t.Errorf("%d series", n)
	}
}

func TestARelayThatCannotCountSaysSoAndGoesOnWhenItCan(t *testing.T) {
	w := newWorld(t, 1)
	out := w.kafka.Topic(t, 1)
	w.fill(out, 7, 1)
	w.exec(`ALTER TABLE outbox_message RENAME created_at TO emitted_at`)
	var said atomic.Value
	said.Store("")
	r, _ := w.startRelay(runtime.RelayConfig{OnError: func(_ int, err error) { said.Store(err.Error()) }})
	w.eventually("it says what it could not do", func() bool { return strings.Contains(said.Load().(string), "counting unsent messages") })
	w.exec(`ALTER TABLE outbox_message RENAME emitted_at TO created_at`)
	w.relayedAll()
	if got := r.Stats().Backlog; got.Counted.IsZero() {
		t.Error("the outbox is not counted")
	}
}
