package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// A Protocol is a consumer group protocol.
type Protocol int

const (
	// Classic is the protocol in which a member computes the assignment, with
	// cooperative-sticky balancing. Every broker speaks it.
	Classic Protocol = iota
	// KIP848 is the protocol in which the broker computes it. It needs Apache
	// Kafka 4.0 or later; franz-go advises 4.3 or later, before which commits
	// may fail with STALE_MEMBER_EPOCH around a rebalance. Such commits are
	// tried again.
	KIP848
)

// Config configures a Consumer. Brokers and Group are required; for every other
// field the zero value means the default its comment states.
type Config struct {
	// Brokers are the seed brokers, host:port.
	Brokers []string
	// Group is the consumer group. It is part of the key of processed_event, so
	// a renamed group processes everything again.
	Group string
	// InstanceID makes the member static (KIP-345): it keeps its partitions over
	// a restart that is shorter than the session timeout. It must be unique in
	// the group.
	InstanceID string
	// Protocol is the group protocol, Classic by default.
	Protocol Protocol
	// KafkaOptions are further options for the Kafka client, such as TLS, SASL or
	// session timeouts. Options that the runtime's guarantees rest on (group,
	// topics, commits, offset reset, rebalance callbacks, isolation level) are
	// overridden. Run refuses ConsumeRegex.
	KafkaOptions []kgo.Opt

	// Decoder decodes payloads and finds the event id, JSON{} by default.
	Decoder Decoder

	// Layout says how processed_event is laid out, Partitioned by default.
	Layout Layout
	// Window is the span of time in which event ids are accepted and remembered.
	Window Window
	// MaintenanceInterval is the time between two passes of the Maintainer that
	// Run runs, 10 minutes by default.
	MaintenanceInterval time.Duration

	// BatchSize is the largest number of records in one transaction, 500 by
	// default, at most 1,000. Measured on PostgreSQL 15, 100 reaches two thirds
	// of the throughput of 500, and 1,000 is no faster.
	BatchSize int
	// Linger is how long a batch that is not full waits for more records, 2 ms by
	// default; negative means not at all.
	Linger time.Duration
	// Concurrency is how many batches of one partition run side by side, 1 by
	// default. Records with the same key stay in order; a partition's records
	// without a key count as one key. Each uses a connection of the pool. At most 1,024.
	Concurrency int
	// MaxBuffered is how many polled and not yet completed records a partition
	// holds before it is paused, 8 × BatchSize by default. One fetch may exceed it.
	MaxBuffered int

	// LockTimeout is PostgreSQL's lock_timeout in the batch transaction, 5 s by
	// default. It bounds the wait for another owner of the same event.
	LockTimeout time.Duration
	// StatementTimeout is PostgreSQL's statement_timeout in the batch
	// transaction, 30 s by default.
	StatementTimeout time.Duration
	// IdleTimeout is PostgreSQL's idle_in_transaction_session_timeout in the
	// batch transaction, 60 s by default: how long a handler may think between
	// two statements, and how long a vanished consumer's locks are kept.
	IdleTimeout time.Duration
	// BatchTimeout bounds one attempt at a batch from begin to commit, 60 s by
	// default. A batch that exceeds it is tried again with half the events. It also
	// bounds the wait for a connection of the pool, and one call of DeadLetter.
	BatchTimeout time.Duration

	// BackoffMin and BackoffMax bound the wait before another attempt, which
	// doubles from one to the other with full jitter. 50 ms and 10 s by default.
	BackoffMin, BackoffMax time.Duration
	// CommitInterval is the shortest time between two offset commits, 100 ms by
	// default. It bounds how many completed records a crash delivers again.
	CommitInterval time.Duration
	// RevokeTimeout is how long a rebalance waits for the batches in flight on
	// the partitions it takes away, 3 s by default; then they are rolled back.
	RevokeTimeout time.Duration
	// ShutdownTimeout is how long Run waits for batches in flight after its
	// context has ended, 20 s by default. Then it cuts them off and may take up to
	// 20 s more: for handlers that are deaf to their context, the last offset commit,
	// the goodbye to the group, and OnAlarm, 5 s each.
	ShutdownTimeout time.Duration

	// KeyLifetime is how long the providers that handlers call remember an
	// idempotency key, 24 h by default; negative means for ever. An event that is
	// older gets no key any more but goes to the quarantine: see IdempotencyKey and
	// HandleCall, which also say from when on the age counts. Make it as much less
	// than what the provider promises as a call may take and clocks may be wrong: with
	// IdempotencyKey in a handler of Handle those of the producers, too, whose ids may
	// be ahead by up to Window.Skew. An id that is ahead keeps its keys for longer.
	KeyLifetime time.Duration

	// MaxAttempts is how often the handler is run for a record by itself that keeps
	// failing, 3 by default, with the usual backoff in between and the partition's later
	// records (of its lane) waiting. It is for failures that may pass: a handler's
	// own error without a SQLSTATE, a panic, whatever is marked with ErrTransient. What
	// cannot pass (an undecodable record, a data error of PostgreSQL, ErrPermanent) is
	// not tried again.
	MaxAttempts int

	// RetryTopics, if there are any, are where a record goes after MaxAttempts failures
	// that may pass, one after the other, each with its delay; after the last of them
	// it is a dead letter. The record runs by the handler of its own topic, which sees
	// it as it was consumed first, and is deduplicated like any other.
	//
	// It loses its place: later events of its key are processed while it waits. Do
	// not use it where their order matters. Without RetryTopics nothing overtakes a
	// record but by its becoming a dead letter.
	RetryTopics []RetryTopic

	// Quarantine keeps the records whose id is outside the window, and those too
	// old for their idempotency keys, QuarantineTable{} by default.
	Quarantine Quarantine
	// DeadLetterTopic is the topic that records go to that fail by their own fault,
	// with the Header… headers. It must exist. A record is written there with acks=all,
	// and the answer is awaited, before its offset moves; while that fails the partition
	// waits, with AlarmDeadLetter, and nothing is skipped. With neither DeadLetterTopic
	// nor DeadLetter such a record stops its partition.
	DeadLetterTopic string
	// DeadLetterMaxAge is the greatest age, since it failed, at which a dead letter may
	// still be replayed; 0 means as long as the window allows if there is a ReplayTopic.
	// Together with the delays of RetryTopics it must not exceed Window.Retention: an
	// event that comes back later could not be told from a repeat.
	DeadLetterMaxAge time.Duration
	// ReplayTopic is the topic that Replay writes dead letters of this group to. It is
	// this group's alone and must exist. The consumer consumes it itself.
	ReplayTopic string
	// DeadLetterOutbox writes dead letters for DeadLetterTopic to the outbox, in a
	// transaction of its own, and leaves it to a Relay to publish them. A record that
	// is delivered again is then one dead letter, and one whose event has been processed
	// meanwhile is none. The partition waits for the database only.
	DeadLetterOutbox bool
	// DeadLetter takes such records instead of a topic.
	DeadLetter DeadLetter
	// Relay lets Run also publish what is in the outbox: what handlers Emit, and dead
	// letters if DeadLetterOutbox is set. Without it another process has to, with a
	// Relay of its own. Brokers, KafkaOptions and Logger of this Config are the default
	// for those of the relay, and OnError also raises AlarmOutbox.
	Relay *RelayConfig
	// OnAlarm is called for every Alarm, one after the other. The alarm has been
	// logged by then. While a call does not return, no other is made; beyond a
	// thousand alarms that wait, further ones are only logged.
	OnAlarm func(Alarm)
	// Logger receives what happens, slog.Default() by default; "Seeing it" in the
	// package documentation says what at which level, and how much that is.
	Logger *slog.Logger
	// MeterProvider makes the metrics, OpenTelemetry's global one by default.
	MeterProvider metric.MeterProvider
	// TracerProvider makes the spans, OpenTelemetry's global one by default.
	TracerProvider trace.TracerProvider
	// Propagator finds the producer's span in a record's headers, for the links of a
	// span; OpenTelemetry's global one by default, which finds nothing until the
	// program has set one, such as propagation.TraceContext for W3C's traceparent.
	Propagator propagation.TextMapPropagator
	// Now is this machine's clock, time.Now by default. Ids are checked against
	// the database's clock.
	Now func() time.Time
}

// A FailedRecord is a record that failed by its own fault: it could not be
// decoded, holds no event id, or its handler failed with nothing else at fault.
type FailedRecord struct {
	Record *kgo.Record
	// Group is the consumer group that failed to process the record.
	Group string
	// EventID is the event's id, the zero UUID if the record could not be decoded.
	EventID uuid.UUID
	// Attempt is how many attempts at the record by itself have failed, at least 1.
	Attempt int
	// Err is the reason.
	Err error

	delivered *kgo.Record // from where it came last; Record, or what a retry topic held
	tier      int         // how many retry topics it has been through
	hopeless  bool        // another attempt would not help
}

// DeadLetter takes failed records out of the way. It gets those of which another
// attempt would not help, or for which MaxAttempts and RetryTopics are used up.
type DeadLetter interface {
	// Put stores the record durably before it returns nil; after that its offset
	// counts as completed. While it returns an error it is called again, with
	// backoff, and the partition goes no further. It must return when ctx ends,
	// after Config.BatchTimeout. After a crash the same record
	// may be put again, with the same group, topic, partition and offset.
	Put(ctx context.Context, failed FailedRecord) error
}

// withDefaults fills in the defaults.
func (c Config) withDefaults() Config {
	durations := []struct {
		field *time.Duration
		def   time.Duration
	}{
		{&c.Linger, 2 * time.Millisecond},
		{&c.LockTimeout, 5 * time.Second},
		{&c.StatementTimeout, 30 * time.Second},
		{&c.IdleTimeout, 60 * time.Second},
		{&c.BatchTimeout, 60 * time.Second},
		{&c.BackoffMin, 50 * time.Millisecond},
		{&c.BackoffMax, 10 * time.Second},
		{&c.CommitInterval, 100 * time.Millisecond},
		{&c.RevokeTimeout, 3 * time.Second},
		{&c.ShutdownTimeout, 20 * time.Second},
		{&c.KeyLifetime, defaultKeyLifetime},
	}
	for _, d := range durations {
		if *d.field == 0 {
			*d.field = d.def
		}
	}
	if c.BatchSize == 0 {
		c.BatchSize = 500
	}
	if c.Concurrency == 0 {
		c.Concurrency = 1
	}
	c.Window = c.Window.withDefaults()
	if c.DeadLetterMaxAge == 0 && c.ReplayTopic != "" {
		c.DeadLetterMaxAge = max(0, c.Window.Retention-c.redelivery())
	}
	c.Window.Redelivery = max(c.Window.Redelivery, c.redelivery())
	if c.MaxAttempts == 0 {
		c.MaxAttempts = 3
	}
	if c.MaxBuffered == 0 {
		c.MaxBuffered = 8 * c.BatchSize
	}
	if c.Decoder == nil {
		c.Decoder = JSON{}
	}
	if c.Quarantine == nil {
		c.Quarantine = QuarantineTable{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// maxBatchSize is where larger batches stopped being faster (within 15% of 500
// in every measured setting) and only made the work lost by a failure larger.
const maxBatchSize = 1000

// maxConcurrency is far beyond what one partition's keys or a pool's connections can
// use, and short of what a goroutine each would cost.
const maxConcurrency = 1024

// validate reports every mistake in a Config with its defaults filled in.
func (c Config) validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(len(c.Brokers) == 0, "Brokers is empty")
	refuse(slices.Contains(c.Brokers, ""), "Brokers %q holds an empty address", c.Brokers)
	refuse(c.Group == "", "Group is empty")
	refuse(!utf8.ValidString(c.Group) || strings.ContainsRune(c.Group, 0), "Group %q cannot be stored as text", c.Group)
	refuse(c.BatchSize < 1 || c.BatchSize > maxBatchSize, "BatchSize %d is not between 1 and %d", c.BatchSize, maxBatchSize)
	refuse(c.Concurrency < 1 || c.Concurrency > maxConcurrency, "Concurrency %d is not between 1 and %d", c.Concurrency, maxConcurrency)
	refuse(c.MaxAttempts < 1, "MaxAttempts %d is not positive", c.MaxAttempts)
	refuse(c.DeadLetterTopic != "" && c.DeadLetter != nil, "DeadLetterTopic %q and DeadLetter are two places for one record", c.DeadLetterTopic)
	c.validateRedelivery(refuse)
	refuse(c.DeadLetterOutbox && c.DeadLetterTopic == "", "DeadLetterOutbox is set, but DeadLetterTopic is empty")
	refuse(c.MaxBuffered < 1, "MaxBuffered %d is not positive", c.MaxBuffered)
	refuse(c.Protocol != Classic && c.Protocol != KIP848, "Protocol %d is unknown", c.Protocol)
	for name, d := range map[string]time.Duration{
		"LockTimeout": c.LockTimeout, "StatementTimeout": c.StatementTimeout, "IdleTimeout": c.IdleTimeout,
		"BatchTimeout": c.BatchTimeout, "BackoffMin": c.BackoffMin, "BackoffMax": c.BackoffMax,
		"CommitInterval": c.CommitInterval, "RevokeTimeout": c.RevokeTimeout, "ShutdownTimeout": c.ShutdownTimeout,
	} {
		refuse(d < time.Millisecond, "%s %s is less than a millisecond", name, d)
	}
	if err := c.Window.Validate(); err != nil {
		errs = append(errs, err)
	}
	refuse(c.BackoffMax < c.BackoffMin, "BackoffMax %s is less than BackoffMin %s", c.BackoffMax, c.BackoffMin)
	return errors.Join(errs...)
}

// validateRedelivery refuses what would lose a record on its way back, or process it
// twice after it.
func (c Config) validateRedelivery(refuse func(bad bool, format string, args ...any)) {
	names := map[string]bool{"": true, c.DeadLetterTopic: true}
	for _, t := range c.RetryTopics {
		refuse(names[t.Topic], "RetryTopics: topic %q has no name, or is there for something else", t.Topic)
		refuse(t.Delay < time.Millisecond, "RetryTopics: the delay %s of topic %q is less than a millisecond", t.Delay, t.Topic)
		names[t.Topic] = true
	}
	refuse(c.ReplayTopic != "" && names[c.ReplayTopic], "ReplayTopic %q is there for something else", c.ReplayTopic)
	refuse(len(c.RetryTopics) > 0 && c.DeadLetterTopic == "" && c.DeadLetter == nil,
		"RetryTopics are set, but there is no DeadLetterTopic or DeadLetter to follow the last")
	refuse(c.DeadLetterMaxAge < 0, "DeadLetterMaxAge %s is negative", c.DeadLetterMaxAge)
	refuse(c.redelivery() > c.Window.Retention,
		"a record may come back %s after it came first, by RetryTopics and DeadLetterMaxAge %s, but is remembered only for Window.Retention %s",
		c.redelivery(), c.DeadLetterMaxAge, c.Window.Retention)
}
