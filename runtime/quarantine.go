package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Quarantined is a record that was refused because nobody can tell whether its event was processed before.
type Quarantined struct {
	// Group is the consumer group that refused it.
	Group string
	// Record is the record, whole.
	Record *kgo.Record
	// EventID is the event's id, the zero UUID if the record has none.
	EventID uuid.UUID
	// Reason tells kinds apart, for metrics and queries.
	Reason Reason
	// Detail tells a person more.
	Detail string
}

// NewQuarantined is a record refused because of err. The reason is that of an *OutOfWindowError in err, ReasonKeyExpired
// or ReasonCallUnknown for a *KeyExpiredError or *CallUnknownError, else empty.
func NewQuarantined(group string, record *kgo.Record, id uuid.UUID, err error) Quarantined {
	q := Quarantined{Group: group, Record: record, EventID: id, Detail: err.Error()}
	if out := new(OutOfWindowError); errors.As(err, &out) {
		q.Reason = out.Reason
	}
	if expired := new(KeyExpiredError); errors.As(err, &expired) {
		q.Reason = ReasonKeyExpired
	}
	if unknown := new(CallUnknownError); errors.As(err, &unknown) {
		q.Reason = ReasonCallUnknown
	}
	return q
}

// LogValue lists the record's place and reason for slog. It leaves out what the record holds.
func (q Quarantined) LogValue() slog.Value {
	return slog.GroupValue(
		slog.String("event_id", q.EventID.String()),
		slog.String("topic", q.Record.Topic),
		slog.Int("partition", int(q.Record.Partition)),
		slog.Int64("offset", q.Record.Offset),
		slog.String("group", q.Group),
		slog.String("reason", string(q.Reason)),
		slog.String("detail", q.Detail),
	)
}

// A Quarantine keeps refused records for a person to decide about.
type Quarantine interface {
	// Put stores records in tx, or durably elsewhere, before their offsets are committed. A record that is there
	// already is not stored again: after a crash, Put gets it once more.
	Put(ctx context.Context, tx pgx.Tx, records []Quarantined) error
}

// QuarantineTable is the Quarantine that keeps records in quarantined_event.
type QuarantineTable struct {
	// schema of the table, empty for the first in the search path that has one. A consumer's own is the one it
	// found before its first record, whatever a handler makes of the path.
	schema string
}

// Put implements Quarantine.
func (t QuarantineTable) Put(ctx context.Context, tx pgx.Tx, records []Quarantined) error {
	name := qualified(t.schema, "quarantined_event")
	var batch pgx.Batch
	for _, q := range records {
		queueQuarantined(&batch, name, q)
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("insert into quarantined_event: %w", err)
	}
	return nil
}

// qualified is a table's name with its schema, unless that is empty.
func qualified(schema, table string) string {
	if schema == "" {
		return pgx.Identifier{table}.Sanitize()
	}
	return pgx.Identifier{schema, table}.Sanitize()
}

func queueQuarantined(batch *pgx.Batch, table string, q Quarantined) {
	r := q.Record
	keys, values := splitHeaders(r.Headers)
	var id *uuid.UUID
	if q.EventID != uuid.Nil {
		id = &q.EventID
	}
	batch.Queue(`
		INSERT INTO `+table+` (consumer_group, topic, partition_id, record_offset, record_timestamp,
			record_key, record_value, header_keys, header_values, event_id, reason, detail, record_digest)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
		ON CONFLICT DO NOTHING`,
		q.Group, r.Topic, r.Partition, r.Offset, storable(r.Timestamp),
		r.Key, r.Value, keys, values, id, string(q.Reason), printable(q.Detail), recordDigest(r))
}

// storable brings a producer's timestamp, which may be any 64-bit number of milliseconds, into the years that
// PostgreSQL can hold.
func storable(t time.Time) time.Time {
	earliest, latest := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
	switch {
	case t.Before(earliest):
		return earliest
	case t.After(latest):
		return latest
	default:
		return t
	}
}

// printable makes a text of anything a record may have brought into an error: PostgreSQL takes no NUL and nothing
// that is not UTF-8.
func printable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// recordDigest tells records apart that had the same place in a topic that was made anew. Lengths go in, so that
// no two splits into key and value are alike.
func recordDigest(r *kgo.Record) []byte {
	h := sha256.New()
	for _, part := range [][]byte{r.Key, r.Value} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write(part)
	}
	return h.Sum(nil)
}
