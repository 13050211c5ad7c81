package runtime_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
)

func putInQuarantine(t *testing.T, pool *pgxpool.Pool, records ...runtime.Quarantined) {
	t.Helper()
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return runtime.QuarantineTable{}.Put(t.Context(), tx, records)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func refused(record *kgo.Record) runtime.Quarantined {
	id := uuid.MustParse("1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed")
	return runtime.NewQuarantined("billing", record, id, (runtime.Window{}).Check(id, time.Now()))
}

func TestAQuarantinedRecordIsKeptWhole(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	record := &kgo.Record{
		Topic: "orders", Partition: 3, Offset: math.MaxInt64 - 1, Timestamp: time.UnixMilli(1_796_000_000_123),
		Key: []byte{0, 0xff}, Value: []byte("{\"eventId\":\"\x00\"}"),
		Headers: []kgo.RecordHeader{{Key: "\x00\xff", Value: []byte{1}}, {Key: "nil"}},
	}
	putInQuarantine(t, pool, refused(record))
	var got kgo.Record
	var id uuid.UUID
	var reason, group string
	var keys, values [][]byte
	err := pool.QueryRow(t.Context(), `SELECT consumer_group, topic, partition_id, record_offset, record_timestamp,
		record_key, record_value, header_keys, header_values, event_id, reason FROM quarantined_event`).Scan(
		&group, &got.Topic, &got.Partition, &got.Offset, &got.Timestamp, &got.Key, &got.Value, &keys, &values, &id, &reason)
	if err != nil {
		t.Fatal(err)
	}
	if group != "billing" || got.Topic != record.Topic || got.Partition != 3 || got.Offset != record.Offset ||
		!got.Timestamp.Equal(record.Timestamp) || id.Version() != 4 || reason != string(runtime.ReasonNotV7) {
		t.Errorf("kept %s %+v %s %s", group, got, id, reason)
	}
	if !bytes.Equal(got.Key, record.Key) || !bytes.Equal(got.Value, record.Value) {
		t.Errorf("kept key %q and value %q", got.Key, got.Value)
	}
	if len(keys) != 2 || string(keys[0]) != "\x00\xff" || !bytes.Equal(values[0], []byte{1}) || values[1] != nil {
		t.Errorf("kept headers %q: %q", keys, values)
	}
}

func TestARecordIsQuarantinedOnceHoweverOftenItIsDelivered(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	at := time.UnixMilli(1_796_000_000_000)
	record := func(value string, offset int64) *kgo.Record {
		return &kgo.Record{Topic: "orders", Offset: offset, Timestamp: at, Value: []byte(value)}
	}
	putInQuarantine(t, pool, refused(record("a", 1)))
	putInQuarantine(t, pool, refused(record("a", 1)), refused(record("a", 1)))
	if n := queryInt(t, pool, "SELECT count(*) FROM quarantined_event"); n != 1 {
		t.Errorf("%d rows for one record, want 1", n)
	}
	// Offsets begin again in a topic that was deleted and made anew.
	putInQuarantine(t, pool, refused(record("b", 1)), refused(record("a", 2)))
	if n := queryInt(t, pool, "SELECT count(*) FROM quarantined_event"); n != 3 {
		t.Errorf("%d rows for three records, want 3", n)
	}
}

func TestRecordsThatSplitDifferentlyIntoKeyAndValueAreTwo(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	at := time.UnixMilli(1_796_000_000_000)
	putInQuarantine(t, pool,
		refused(&kgo.Record{Topic: "orders", Timestamp: at, Key: []byte("a"), Value: []byte("bc")}),
		refused(&kgo.Record{Topic: "orders", Timestamp: at, Key: []byte("ab"), Value: []byte("c")}))
	if n := queryInt(t, pool, "SELECT count(*) FROM quarantined_event"); n != 2 {
		t.Errorf("%d rows, want 2", n)
	}
}

// A record that cannot be kept would stop its partition for ever.
func TestEverythingARecordMayHoldCanBeQuarantined(t *testing.T) {
	pool := migrated(t, runtime.Plain)
	for name, q := range map[string]runtime.Quarantined{
		"no key, value, id":   {Group: "billing", Record: &kgo.Record{Topic: "orders", Timestamp: time.UnixMilli(0)}, Detail: "none"},
		"the first timestamp": {Group: "billing", Record: &kgo.Record{Topic: "orders", Timestamp: time.UnixMilli(math.MinInt64)}},
		"the last timestamp":  {Group: "billing", Record: &kgo.Record{Topic: "orders", Timestamp: time.UnixMilli(math.MaxInt64)}},
		"a detail that is no text": {Group: "billing", Record: &kgo.Record{Topic: "orders"},
			Detail: "field \x00 holds \xff"},
		"a large value": {Group: "billing", Record: &kgo.Record{Topic: "orders", Value: make([]byte, 4<<20)}},
	} {
		t.Run(name, func(t *testing.T) {
			execSQL(t, pool, "DELETE FROM quarantined_event")
			putInQuarantine(t, pool, q)
			n := queryInt(t, pool, `SELECT count(*) FROM quarantined_event
				WHERE extract(year FROM record_timestamp AT TIME ZONE 'UTC') IN (1, 1970, 9999)`)
			if n != 1 {
				t.Errorf("%d rows with a timestamp as near to the record's as there is, want 1", n)
			}
		})
	}
}

func TestAQuarantineRollsBackWithItsTransaction(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	cause := errors.New("a handler failed")
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if err := (runtime.QuarantineTable{}).Put(t.Context(), tx, []runtime.Quarantined{refused(&kgo.Record{Topic: "orders"})}); err != nil {
			return err
		}
		return cause
	})
	if !errors.Is(err, cause) {
		t.Fatal(err)
	}
	if n := queryInt(t, pool, "SELECT count(*) FROM quarantined_event"); n != 0 {
		t.Errorf("%d rows of a transaction that was rolled back", n)
	}
}

func TestAQuarantineThatCannotBeWrittenSaysSo(t *testing.T) {
	pool := migrated(t, runtime.Partitioned)
	execSQL(t, pool, "DROP TABLE quarantined_event")
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return runtime.QuarantineTable{}.Put(t.Context(), tx, []runtime.Quarantined{refused(&kgo.Record{Topic: "orders"})})
	})
	if err == nil {
		t.Error("it answered nil")
	}
}

func TestTheReasonOfARefusalIsFoundInWrappedErrors(t *testing.T) {
	out := (runtime.Window{}).Check(uuid.Nil, time.Now())
	q := runtime.NewQuarantined("billing", &kgo.Record{}, uuid.Nil, fmt.Errorf("check: %w", out))
	if q.Reason != runtime.ReasonNotV7 {
		t.Errorf("reason %q, want %q", q.Reason, runtime.ReasonNotV7)
	}
	if q := runtime.NewQuarantined("billing", &kgo.Record{}, uuid.Nil, errors.New("other")); q.Reason != "" {
		t.Errorf("reason %q of another error, want none", q.Reason)
	}
}

func TestAConsumerDoesNotStartWithoutItsQuarantine(t *testing.T) {
	w := newWorld(t, 1)
	w.exec(`DROP TABLE quarantined_event`)
	if err := w.start(w.config(), w.ledger).wait(); !errors.Is(err, runtime.ErrNotMigrated) {
		t.Errorf("Run answered %v, want ErrNotMigrated", err)
	}
}
