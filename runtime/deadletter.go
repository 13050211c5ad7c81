package runtime

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"
)

// The headers of a failed record, beside those it had. Values are text in UTF-8. A
// record that fails more than once carries them once, with its first place and its last
// error.
const (
	// HeaderOriginalTopic, HeaderOriginalPartition and HeaderOriginalOffset say where
	// the record was consumed from; numbers are decimal.
	HeaderOriginalTopic     = headerPrefix + "original-topic"
	HeaderOriginalPartition = headerPrefix + "original-partition"
	HeaderOriginalOffset    = headerPrefix + "original-offset"
	// HeaderOriginalTimestamp is the record's timestamp there, in milliseconds since
	// 1970, as Kafka counts them.
	HeaderOriginalTimestamp = headerPrefix + "original-timestamp"
	// HeaderError is what the record failed with last, at most 4,096 bytes of it.
	HeaderError = headerPrefix + "error"
	// HeaderAttempt is FailedRecord.Attempt, decimal.
	HeaderAttempt = headerPrefix + "attempt"
	// HeaderGroup is the consumer group that failed to process it.
	HeaderGroup = headerPrefix + "group"
	// HeaderEventID is the event's id; the header is missing if the record could not be
	// decoded. It is for people and tools: the runtime takes ids out of payloads only.
	HeaderEventID = headerPrefix + "event-id"
)

const headerPrefix = "idemlint-"

// maxHeaderError bounds the error in a header, so that a record which was just small
// enough for its topic is not made too large for the next by a stack trace.
const maxHeaderError = 4096

// failurePaths is the DeadLetter of a consumer whose failed records go to topics.
type failurePaths struct {
	cfg   Config
	write func(ctx context.Context, topic string, failed FailedRecord) error
	last  DeadLetter // the user's own, nil with a DeadLetterTopic
}

// Put implements DeadLetter.
func (p *failurePaths) Put(ctx context.Context, failed FailedRecord) error {
	topic, _ := p.cfg.nextTopic(failed)
	if topic == "" {
		return p.last.Put(ctx, failed)
	}
	return p.write(ctx, topic, failed)
}

// nextTopic is where a failed record goes, and whether it comes back from there. It is
// empty for the user's own DeadLetter.
func (c Config) nextTopic(failed FailedRecord) (topic string, again bool) {
	if !failed.hopeless && failed.tier < len(c.RetryTopics) {
		return c.RetryTopics[failed.tier].Topic, true
	}
	return c.DeadLetterTopic, false
}

// failedCopy is the record to write to topic: key and value as they were, so that they
// stay in order and can be replayed, and headers that say what happened.
func failedCopy(topic string, failed FailedRecord) *kgo.Record {
	rec := failed.Record
	headers := foreignHeaders(rec.Headers)
	add := func(key, value string) {
		headers = append(headers, kgo.RecordHeader{Key: key, Value: []byte(value)})
	}
	add(HeaderOriginalTopic, rec.Topic)
	add(HeaderOriginalPartition, strconv.Itoa(int(rec.Partition)))
	add(HeaderOriginalOffset, strconv.FormatInt(rec.Offset, 10))
	add(HeaderOriginalTimestamp, strconv.FormatInt(rec.Timestamp.UnixMilli(), 10))
	add(HeaderGroup, failed.Group)
	add(HeaderAttempt, strconv.Itoa(failed.Attempt))
	add(HeaderError, clip(printable(failed.Err.Error()), maxHeaderError))
	if failed.EventID != uuid.Nil {
		add(HeaderEventID, failed.EventID.String())
	}
	return &kgo.Record{Topic: topic, Key: rec.Key, Value: rec.Value, Headers: headers}
}

// foreignHeaders are those that the runtime did not write: a record that was mirrored
// out of some other group's dead letters begins anew.
func foreignHeaders(headers []kgo.RecordHeader) []kgo.RecordHeader {
	foreign := make([]kgo.RecordHeader, 0, len(headers)+8)
	for _, h := range headers {
		if !strings.HasPrefix(h.Key, headerPrefix) {
			foreign = append(foreign, h)
		}
	}
	return foreign
}

// clip shortens s to at most n bytes of whole characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// failedToOutbox writes a failed record for topic to the outbox.
func (c *Consumer) failedToOutbox(ctx context.Context, topic string, failed FailedRecord) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("making an id for the outbox: %w", err)
	}
	rec := failedCopy(topic, failed)
	m := Message{ID: id, Topic: rec.Topic, Key: rec.Key, Value: rec.Value, Headers: rec.Headers}
	err = pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		// The offset will move, so that the row must not be lost after that.
		if _, err := tx.Exec(ctx, `SELECT pg_catalog.set_config('synchronous_commit', 'on', true)
			WHERE pg_catalog.current_setting('synchronous_commit') = 'off'`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, c.deadLetterSQL, append(m.args(), sourceOf(failed), plainArg(failed.EventID), failed.Group)...)
		return err
	})
	if err != nil {
		return fmt.Errorf("writing a failed record to the outbox: %w", err)
	}
	c.wakeRelay()
	return nil
}

// deadLetterSQL inserts a message unless it is there, or its event was processed by
// another delivery since.
func deadLetterSQL(outbox, marks string) string {
	return `INSERT INTO ` + outbox + ` (id, topic, key, value, header_keys, header_values, source)
SELECT $1::pg_catalog.uuid, $2, $3::pg_catalog.bytea, $4::pg_catalog.bytea, $5::pg_catalog.bytea[], $6::pg_catalog.bytea[], $7
WHERE NOT EXISTS (SELECT FROM ` + marks + ` WHERE event_id = $8 AND consumer_group = $9)
ON CONFLICT (source) WHERE source IS NOT NULL DO NOTHING`
}

// sourceOf tells failed deliveries apart, as the quarantine does.
func sourceOf(failed FailedRecord) string {
	r := failed.delivered
	return printable(fmt.Sprintf("%s %s/%d/%d %x", failed.Group, r.Topic, r.Partition, r.Offset, recordDigest(r)))
}
