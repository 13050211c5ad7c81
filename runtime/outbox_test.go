package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// receipt is the payload of the events that the tests' handlers emit.
type receipt struct {
	EventID uuid.UUID `json:"eventId"`
	Key     string    `json:"key"`
	Seq     int       `json:"seq"`
}

// emitting is a handler that writes to the ledger and emits a receipt to topic.
func emitting(topic string) func(context.Context, pgx.Tx, runtime.Event[order]) error {
	return func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		if err := queueOrder(ctx, tx, e); err != nil {
			return err
		}
		_, err := runtime.Emit(ctx, tx, topic, e.Payload.Key, receipt{Key: e.Payload.Key, Seq: e.Payload.Seq})
		return err
	}
}

// relayed answers a configuration with a relay that is quick.
func (w *world) relayed() runtime.Config {
	cfg := w.config()
	cfg.Relay = &runtime.RelayConfig{Interval: 20 * time.Millisecond}
	return cfg
}

// receipts reads what topic holds.
func (w *world) receipts(topic string) []receipt {
	w.Helper()
	var all []receipt
	for _, rec := range w.contents(topic) {
		var r receipt
		if err := json.Unmarshal(rec.Value, &r); err != nil {
			w.Fatal(err)
		}
		if headersOf(rec)[runtime.HeaderEventID] != r.EventID.String() {
			w.Errorf("header %v does not hold the id of %s", rec.Headers, rec.Value)
		}
		all = append(all, r)
	}
	return all
}

// inbound asserts that receipts hold n distinct events, each under one id, and that the
// first of each comes in the order of its key.
func (w *world) inbound(got []receipt, n int) {
	w.Helper()
	ids := map[string]uuid.UUID{}
	last := map[string]int{}
	for _, r := range got {
		name := fmt.Sprintf("%s %d", r.Key, r.Seq)
		if id, seen := ids[name]; seen {
			if id != r.EventID {
				w.Errorf("%s was published as %s and as %s", name, id, r.EventID)
			}
			continue
		}
		ids[name] = r.EventID
		if before, seen := last[r.Key]; seen && r.Seq <= before {
			w.Errorf("%s came after %d", name, before)
		}
		last[r.Key] = r.Seq
	}
	w.Logf("%d messages of %d events", len(got), len(ids))
	if len(ids) != n {
		w.Errorf("%d events were published, want %d", len(ids), n)
	}
}

func (w *world) unsent() int {
	return w.count(`SELECT count(*) FROM outbox_message WHERE sent_at IS NULL`)
}

func (w *world) relayedAll() {
	w.Helper()
	w.eventually("everything in the outbox is sent", func() bool { return w.unsent() == 0 })
}

func TestAnEventIsPublishedIfAndOnlyIfItsTransactionCommits(t *testing.T) {
	w := newWorld(t, 2)
	out := w.kafka.Topic(t, 2)
	events := orders(200, 10)
	events[77].Amount = -1 // takes its batch back
	w.produce(withRepeats(events)...)
	cfg := w.relayed()
	cfg.DeadLetter, cfg.BatchSize = &shelf{}, 20
	w.start(cfg, func(c *runtime.Consumer) { runtime.Handle(c, w.topic, emitting(out)) })
	w.caughtUp()
	w.relayedAll()
	w.exactly(199)
	got := w.receipts(out)
	w.inbound(got, 199)
	if len(got) != 199 {
		t.Errorf("%d messages were published, want 199", len(got))
	}
	if slices.ContainsFunc(got, func(r receipt) bool { return r.Key == events[77].Key && r.Seq == events[77].Seq }) {
		t.Error("the event of a handler that failed was published")
	}
}

// TestAnEmittedEventIsHandledOnceByTheNextConsumer chains two consumers.
func TestAnEmittedEventIsHandledOnceByTheNextConsumer(t *testing.T) {
	w := newWorld(t, 2)
	out := w.kafka.Topic(t, 2)
	w.exec(`CREATE TABLE received (event_id uuid NOT NULL)`)
	w.produce(withRepeats(orders(100, 10))...)
	w.start(w.relayed(), func(c *runtime.Consumer) { runtime.Handle(c, w.topic, emitting(out)) })
	cfg := w.config()
	cfg.Group = w.kafka.Group()
	w.start(cfg, func(c *runtime.Consumer) {
		runtime.Handle(c, out, func(ctx context.Context, tx pgx.Tx, e runtime.Event[receipt]) error {
			return runtime.Queue(ctx, tx, `INSERT INTO received VALUES ($1)`, e.ID)
		})
	})
	w.eventually("all receipts are received", func() bool { return w.count(`SELECT count(*) FROM received`) == 100 })
}

// TestACrashOfTheRelayPublishesAgainUnderTheSameID crashes between every two steps.
func TestACrashOfTheRelayPublishesAgainUnderTheSameID(t *testing.T) {
	for _, step := range seam.RelaySteps() {
		t.Run(step.String(), func(t *testing.T) {
			w := newWorld(t, 1)
			out := w.kafka.Topic(t, 2)
			w.produce(orders(60, 6)...)
			cfg := w.relayed()
			cfg.Relay.BatchSize = 7
			crashes := 0
			for range 3 {
				ctx := seam.With(context.Background(), func(s seam.Step) error {
					if s == step {
						return seam.ErrCrash
					}
					return nil
				})
				r := w.startWith(ctx, cfg, func(c *runtime.Consumer) { runtime.Handle(c, w.topic, emitting(out)) })
				if err := r.wait(); errors.Is(err, seam.ErrCrash) {
					crashes++
				}
			}
			w.start(cfg, func(c *runtime.Consumer) { runtime.Handle(c, w.topic, emitting(out)) })
			w.caughtUp()
			w.relayedAll()
			got := w.receipts(out)
			w.inbound(got, 60)
			if crashes != 3 {
				t.Errorf("%d crashes, want 3", crashes)
			}
			if repeats := len(got) - 60; (repeats > 0) != (step == seam.AfterRelaySend) {
				t.Errorf("%d messages came again after crashes at %s", repeats, step)
			}
		})
	}
}

func TestACrashOfAConsumerThatEmitsPublishesEachEventOnce(t *testing.T) {
	w := newWorld(t, 1)
	out := w.kafka.Topic(t, 2)
	w.produce(orders(100, 10)...)
	cfg := w.relayed()
	cfg.BatchSize, cfg.Linger = 10, -1
	crashes := 0
	for _, step := range []seam.Step{seam.AfterHandlers, seam.BeforeCommit, seam.AfterCommit, seam.AfterWatermark} {
		ctx := seam.With(context.Background(), func(s seam.Step) error {
			if s == step {
				return seam.ErrCrash
			}
			return nil
		})
		if err := w.startWith(ctx, cfg, func(c *runtime.Consumer) { runtime.Handle(c, w.topic, emitting(out)) }).wait(); errors.Is(err, seam.ErrCrash) {
			crashes++
		}
	}
	w.start(cfg, func(c *runtime.Consumer) { runtime.Handle(c, w.topic, emitting(out)) })
	w.caughtUp()
	w.relayedAll()
	w.exactly(100)
	ids := map[uuid.UUID]bool{}
	for _, r := range w.receipts(out) {
		ids[r.EventID] = true
	}
	if crashes != 4 || len(ids) != 100 || w.count(`SELECT count(*) FROM outbox_message`) != 100 {
		t.Errorf("%d ids of 100 events after %d crashes", len(ids), crashes)
	}
}

func TestEmitPutsTheIDWhereConsumersLookForIt(t *testing.T) {
	w := newWorld(t, 1)
	own, v4 := uuid.Must(uuid.NewV7()), uuid.New()
	type snake struct {
		ID *uuid.UUID `json:"event_id"`
		N  int        `json:"n"`
	}
	for name, tc := range map[string]struct {
		payload any
		field   string
		want    uuid.UUID // the zero UUID for a fresh one
		fails   bool
	}{
		"no field":        {payload: map[string]any{"n": 1, "nested": map[string]any{"eventId": v4}}, field: "eventId"},
		"no field at all": {payload: struct{}{}, field: "eventId"},
		"an empty field":  {payload: receipt{Key: "a"}, field: "eventId"},
		"a null field":    {payload: snake{N: 1}, field: "event_id"},
		"an id of its own": {
			payload: receipt{EventID: own}, field: "eventId", want: own,
		},
		"an id that is no v7": {payload: receipt{EventID: v4}, fails: true},
		"an id that is none":  {payload: map[string]any{"eventId": 7}, fails: true},
		"no object":           {payload: []int{1}, fails: true},
		"no JSON":             {payload: func() {}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w.exec(`TRUNCATE outbox_message`)
			var id uuid.UUID
			err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) (err error) {
				id, err = runtime.Emit(t.Context(), tx, "out", "key", tc.payload)
				return err
			})
			if tc.fails {
				if err == nil || w.unsent() != 0 {
					t.Errorf("Emit answered %v and left %d messages", err, w.unsent())
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var value []byte
			var stored uuid.UUID
			if err := w.pool.QueryRow(t.Context(), `SELECT value, id FROM outbox_message`).Scan(&value, &stored); err != nil {
				t.Fatal(err)
			}
			found, err := runtime.JSON{IDFields: []string{tc.field}}.EventID(value)
			if err != nil || found != id || stored != id {
				t.Errorf("%s holds %s (%v), the table %s, Emit answered %s", value, found, err, stored, id)
			}
			if tc.want != uuid.Nil && id != tc.want || id.Version() != 7 {
				t.Errorf("id is %s, want %s", id, tc.want)
			}
			if !json.Valid(value) || strings.Count(string(value), id.String()) != 1 {
				t.Errorf("value is %s", value)
			}
		})
	}
}

func TestAMessageWithoutATopicIsRefused(t *testing.T) {
	w := newWorld(t, 1)
	err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		_, err := runtime.EmitMessage(t.Context(), tx, runtime.Message{Value: []byte("x")})
		return err
	})
	if err == nil {
		t.Error("it was accepted")
	}
}

func TestTwoMessagesOfOneIDAreRefusedSinceTheSecondWouldBeTakenForARepeat(t *testing.T) {
	w := newWorld(t, 1)
	m := runtime.Message{ID: uuid.Must(uuid.NewV7()), Topic: "out"}
	err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
		_, first := runtime.EmitMessage(t.Context(), tx, m)
		_, second := runtime.EmitMessage(t.Context(), tx, m)
		if first != nil {
			t.Error(first)
		}
		return second
	})
	if err == nil {
		t.Error("they were accepted")
	}
}

func TestAMessageIsPublishedWhole(t *testing.T) {
	w := newWorld(t, 1)
	out := w.kafka.Topic(t, 1)
	messages := []runtime.Message{
		{Topic: out, Key: []byte{0, 0xff}, Value: []byte("\x00binary\xff"), Headers: []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-1")}, {Key: "nil"}}},
		{Topic: out}, // a tombstone without a key
		{Topic: out, Key: []byte{}, Value: []byte{}},
	}
	for _, m := range messages {
		err := pgx.BeginFunc(t.Context(), w.pool, func(tx pgx.Tx) error {
			_, err := runtime.EmitMessage(t.Context(), tx, m)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.startRelay(runtime.RelayConfig{BatchSize: 1})
	w.relayedAll()
	got := w.contents(out)
	if len(got) != 3 {
		t.Fatalf("%d messages, want 3", len(got))
	}
	for i, m := range messages {
		if string(got[i].Key) != string(m.Key) || string(got[i].Value) != string(m.Value) ||
			(got[i].Key == nil) != (m.Key == nil) || (got[i].Value == nil) != (m.Value == nil) || len(got[i].Headers) != len(m.Headers)+1 {
			t.Errorf("message %d is key %q, value %q, headers %v", i, got[i].Key, got[i].Value, got[i].Headers)
		}
	}
	if h := got[0].Headers; h[0].Key != "traceparent" || string(h[0].Value) != "00-1" || h[1].Key != "nil" || len(h[1].Value) != 0 {
		t.Errorf("headers are %v", h)
	}
}

// TestAFailedRecordIsOneDeadLetterOfTheOutbox crashes after its row is written, so that
// it fails again.
func TestAFailedRecordIsOneDeadLetterOfTheOutbox(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(20, 2)
	events[10].Amount = -1
	w.produce(events...)
	cfg := w.relayed()
	dlq := w.kafka.Topic(t, 1)
	cfg.DeadLetterTopic, cfg.DeadLetterOutbox = dlq, true
	ctx := seam.With(context.Background(), func(s seam.Step) error {
		if s == seam.AfterDeadLetter {
			return seam.ErrCrash
		}
		return nil
	})
	if err := w.startWith(ctx, cfg, w.queued).wait(); !errors.Is(err, seam.ErrCrash) {
		t.Fatalf("Run returned %v, want a crash", err)
	}
	w.start(cfg, w.queued)
	w.caughtUp()
	w.relayedAll()
	w.exactly(19)
	ids := map[string]bool{}
	for _, rec := range w.contents(dlq) { // the relay, too, may have crashed
		headers := headersOf(rec)
		ids[headers[runtime.HeaderEventID]] = true
		if headers[runtime.HeaderOriginalOffset] != "10" || headers[runtime.HeaderGroup] != w.group {
			t.Errorf("headers are %v", headers)
		}
	}
	if n := w.count(`SELECT count(*) FROM outbox_message`); n != 1 || len(ids) != 1 || !ids[events[10].EventID.String()] {
		t.Errorf("%d rows and dead letters of %v, want one of event %s", n, ids, events[10].EventID)
	}
}

// TestAnEventThatWasProcessedMeanwhileIsNoDeadLetter lets another delivery succeed after
// the first one has failed and before it is written down.
func TestAnEventThatWasProcessedMeanwhileIsNoDeadLetter(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(3, 1)
	events[1].Amount = -1
	w.produce(events...)
	cfg := w.config()
	cfg.DeadLetterTopic, cfg.DeadLetterOutbox = w.kafka.Topic(t, 1), true
	ctx := seam.With(context.Background(), func(s seam.Step) error {
		if s == seam.BeforeDeadLetter {
			w.exec(`INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, $2)`, events[1].EventID, w.group)
		}
		return nil
	})
	w.startWith(ctx, cfg, w.queued)
	w.caughtUp()
	if n := w.count(`SELECT count(*) FROM outbox_message`); n != 0 {
		t.Errorf("%d dead letters of an event that was processed", n)
	}
}
