package runtime_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
)

// idOf makes a UUID v7 of a time.
func idOf(at time.Time) uuid.UUID {
	id := uuid.Must(uuid.NewV7())
	ms := at.UnixMilli()
	for i := 5; i >= 0; i-- {
		id[i] = byte(ms)
		ms >>= 8
	}
	return id
}

// reported is the oldest uncommitted event that the group has reported for the
// maintainers of all groups, or the zero time.
func (w *world) reported() time.Time {
	var at *time.Time
	err := w.pool.QueryRow(context.Background(), `SELECT oldest_uncommitted FROM processed_event_group WHERE consumer_group = $1`, w.group).Scan(&at)
	if err != nil || at == nil {
		return time.Time{}
	}
	return *at
}

func TestTheGroupReportsTheOldestEventThatItsOffsetsMayStillBring(t *testing.T) {
	old := time.Now().Add(-5 * 24 * time.Hour).Truncate(time.Millisecond)
	cases := map[string]struct {
		timestamp time.Time // of the record
		event     time.Time // of the id
		want      time.Time
	}{
		"the event is older than its record": {time.Now(), old, old},
		"the record is older than its event": {old, time.Now(), old},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2)
			o := orders(1, 1)[0]
			o.EventID = idOf(tc.event)
			rec := record(w.topic, 1, o)
			rec.Timestamp = tc.timestamp
			w.produceRecords(rec)
			// The handler hangs, so the offset stays where it is.
			cfg := w.config()
			cfg.ShutdownTimeout = 50 * time.Millisecond
			w.start(cfg, func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					<-ctx.Done()
					return ctx.Err()
				})
			})
			w.eventually("the group reports", func() bool { return w.reported().Equal(tc.want) })
		})
	}
}

func TestAGroupWithoutLagReportsThePresent(t *testing.T) {
	w := newWorld(t, 2)
	w.produce(orders(10, 2)...)
	r := w.start(w.config(), w.queued)
	w.caughtUp()
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Minute)
	w.exec(`UPDATE processed_event_group SET oldest_uncommitted = NULL`)
	w.start(w.config(), w.queued)
	w.eventually("the group reports the present", func() bool { return w.reported().After(before) })
}

// TestATransactionMarkerBehindTheOffsetDoesNotMakeTheLagUnknown leaves nothing but a control record
// behind the committed offset.
func TestATransactionMarkerBehindTheOffsetDoesNotMakeTheLagUnknown(t *testing.T) {
	w := newWorld(t, 1)
	producer := w.kafka.Client(t, kgo.TransactionalID(w.group), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := producer.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := producer.ProduceSync(t.Context(), record(w.topic, 1, orders(1, 1)[0])).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := producer.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
		t.Fatal(err)
	}
	r := w.start(w.config(), w.queued)
	w.eventually("the record is committed", func() bool { return w.committed()[0] == 1 })
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	w.exec(`UPDATE processed_event_group SET oldest_uncommitted = NULL`)
	w.start(w.config(), w.queued)
	w.eventually("the group reports", func() bool { return !w.reported().IsZero() })
}

// TestABacklogOlderThanTheRetentionIsProcessedWhileTheGroupLags starts a group on a backlog older than
// the retention: the events are new to it and must be processed once, not refused,
// because their partitions of the table are kept for it.
func TestABacklogOlderThanTheRetentionIsProcessedWhileTheGroupLags(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(50, 5)
	for i := range events {
		events[i].EventID = idOf(time.Now().Add(-10 * 24 * time.Hour))
	}
	recs := make([]*kgo.Record, 0, 100)
	for range 2 {
		for _, e := range events {
			rec := record(w.topic, 1, e)
			rec.Timestamp = time.Now().Add(-10 * 24 * time.Hour)
			recs = append(recs, rec)
		}
	}
	w.produceRecords(recs...)
	cfg := w.config()
	cfg.Window.Redelivery = time.Hour
	r := w.start(cfg, w.queued)
	w.caughtUp()
	t.Logf("%+v", r.Stats())
	quarantined := w.count(`SELECT count(*) FROM quarantined_event`)
	if effects := w.count(`SELECT count(*) FROM ledger`); effects != 50 || quarantined != 0 {
		t.Errorf("%d effects and %d quarantined, want 50 and none", effects, quarantined)
	}
}
