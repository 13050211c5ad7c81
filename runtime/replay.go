package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ReplayConfig says which dead letters to bring back, and how. Brokers, Group,
// DeadLetterTopic and ReplayTopic are required. Every condition that is set must hold for
// a dead letter to be selected; with none, all of the group are.
type ReplayConfig struct {
	// Brokers are the seed brokers, host:port.
	Brokers []string
	// KafkaOptions are further options for the Kafka clients, such as TLS or SASL.
	KafkaOptions []kgo.Opt
	// Group is the consumer group whose dead letters are meant, and that gets them.
	Group string
	// DeadLetterTopic and ReplayTopic are those of the group's Config.
	DeadLetterTopic, ReplayTopic string

	// Since and Until select by when the record became a dead letter: from Since, and
	// before Until.
	Since, Until time.Time
	// Error selects those whose HeaderError holds this text.
	Error string
	// EventIDs selects those of these events, by HeaderEventID.
	EventIDs []uuid.UUID
	// Select, if it is set, has the last word. The record is as it lies in the
	// dead letter topic.
	Select func(*kgo.Record) bool

	// DryRun selects and reports, and writes nothing.
	DryRun bool
	// Rate is the most records a second, 100 by default; the consumer that gets them
	// has other work to do.
	Rate float64
	// Logger receives the audit: a line for each record that is selected, and one for
	// the whole. slog.Default() by default.
	Logger *slog.Logger
}

// Replayed is what a Replay has done.
type Replayed struct {
	Read     int // dead letters looked at, of all groups
	Selected int // those that the conditions held for
	Written  int // those written to the replay topic; none in a dry run
}

// Replay writes dead letters to the group's replay topic, from where its consumer
// (Config.ReplayTopic) takes them: they run by the handler of the topic that they came
// from, are deduplicated like any other delivery, and become dead letters again if they
// fail again. Other groups do not get them: the source topic is left alone.
//
// It goes through the dead letter topic as it stands at the beginning, and then returns.
// What is there stays there. Replaying twice is therefore no mistake: an event that was
// processed is a duplicate.
//
// An event that has become older than the window meanwhile goes to the quarantine, since
// nobody could tell whether it is a repeat.
//
// After an error, such as the end of ctx, what was written is written; replay again.
func Replay(ctx context.Context, cfg ReplayConfig) (Replayed, error) {
	if err := cfg.validate(); err != nil {
		return Replayed{}, fmt.Errorf("configuring replay: %w", err)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Rate == 0 {
		cfg.Rate = 100
	}
	producer, err := newProducer(cfg.Brokers, cfg.KafkaOptions)
	if err != nil {
		return Replayed{}, err
	}
	defer producer.close()
	r := &replay{ReplayConfig: cfg, producer: producer}
	err = r.run(ctx)
	cfg.Logger.Info("replay ended", "group", cfg.Group, "dead_letter_topic", cfg.DeadLetterTopic, "replay_topic", cfg.ReplayTopic,
		"dry_run", cfg.DryRun, "read", r.done.Read, "selected", r.done.Selected, "written", r.done.Written, "error", err)
	if err != nil {
		return r.done, fmt.Errorf("replaying topic %q of group %q: %w", cfg.DeadLetterTopic, cfg.Group, err)
	}
	return r.done, nil
}

func (c ReplayConfig) validate() error {
	var errs []error
	if len(c.Brokers) == 0 {
		errs = append(errs, errors.New("Brokers is empty"))
	}
	if c.Group == "" {
		errs = append(errs, errors.New("Group is empty"))
	}
	if c.DeadLetterTopic == "" || c.ReplayTopic == "" || c.DeadLetterTopic == c.ReplayTopic {
		errs = append(errs, fmt.Errorf("DeadLetterTopic %q and ReplayTopic %q are not two topics", c.DeadLetterTopic, c.ReplayTopic))
	}
	if c.Rate < 0 {
		errs = append(errs, fmt.Errorf("Rate %v is negative", c.Rate))
	}
	return errors.Join(errs...)
}

type replay struct {
	ReplayConfig
	producer *producer
	done     Replayed
	next     time.Time // when the rate allows another record
}

// run goes through the dead letter topic up to where it ends now.
func (r *replay) run(ctx context.Context) error {
	at, ends, err := r.bounds(ctx)
	if err != nil || len(ends) == 0 {
		return err
	}
	client, err := kgo.NewClient(append(plainOptions(r.Brokers, r.KafkaOptions),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{r.DeadLetterTopic: at}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())...)
	if err != nil {
		return fmt.Errorf("configuring Kafka client: %w", err)
	}
	defer client.Close()
	for len(ends) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("reading dead letters: %w", err)
		}
		for iter := fetches.RecordIter(); !iter.Done(); {
			rec := iter.Next()
			end, left := ends[rec.Partition]
			if left && rec.Offset < end && !rec.Attrs.IsControl() {
				if err := r.consider(ctx, rec); err != nil {
					return err
				}
			}
			if left && rec.Offset >= end-1 {
				delete(ends, rec.Partition)
			}
		}
	}
	return nil
}

// bounds are where to begin and, without the partitions that hold nothing to look at,
// where to end: at the last record that is there now.
func (r *replay) bounds(ctx context.Context) (at map[int32]kgo.Offset, ends map[int32]int64, err error) {
	admin := kadm.NewClient(r.producer.client)
	starts, err := admin.ListStartOffsets(ctx, r.DeadLetterTopic)
	if err = errors.Join(err, starts.Error()); err != nil {
		return nil, nil, fmt.Errorf("listing start offsets: %w", err)
	}
	if !r.Since.IsZero() {
		starts, err = admin.ListOffsetsAfterMilli(ctx, r.Since.UnixMilli(), r.DeadLetterTopic)
		if err = errors.Join(err, starts.Error()); err != nil {
			return nil, nil, fmt.Errorf("listing offsets since %s: %w", stamp(r.Since), err)
		}
	}
	last, err := admin.ListCommittedOffsets(ctx, r.DeadLetterTopic)
	if err = errors.Join(err, last.Error()); err != nil {
		return nil, nil, fmt.Errorf("listing end offsets: %w", err)
	}
	at, ends = make(map[int32]kgo.Offset), make(map[int32]int64)
	last.Each(func(end kadm.ListedOffset) {
		start, ok := starts.Lookup(end.Topic, end.Partition)
		if ok && start.Offset < end.Offset {
			at[end.Partition], ends[end.Partition] = kgo.NewOffset().At(start.Offset), end.Offset
		}
	})
	return at, ends, nil
}

// consider writes a dead letter to the replay topic if it is selected.
func (r *replay) consider(ctx context.Context, rec *kgo.Record) error {
	r.done.Read++
	headers := make(map[string]string)
	for _, h := range rec.Headers {
		headers[h.Key] = string(h.Value)
	}
	if !r.selects(rec, headers) {
		return nil
	}
	r.done.Selected++
	if !r.DryRun {
		if err := r.throttle(ctx); err != nil {
			return err
		}
		again := &kgo.Record{Topic: r.ReplayTopic, Key: rec.Key, Value: rec.Value, Headers: rec.Headers}
		if err := r.producer.write(ctx, produceTimeout, again); err != nil {
			return fmt.Errorf("dead letter %d of partition %d: %w", rec.Offset, rec.Partition, err)
		}
		r.done.Written++
	}
	r.Logger.Info("dead letter replayed", "group", r.Group, "dry_run", r.DryRun,
		"dead_letter_topic", r.DeadLetterTopic, "dead_letter_partition", rec.Partition, "dead_letter_offset", rec.Offset,
		"event_id", headers[HeaderEventID], "topic", headers[HeaderOriginalTopic], "partition", headers[HeaderOriginalPartition],
		"offset", headers[HeaderOriginalOffset], "attempt", headers[HeaderAttempt], "failed_with", headers[HeaderError])
	return nil
}

func (r *replay) selects(rec *kgo.Record, headers map[string]string) bool {
	switch {
	case headers[HeaderGroup] != r.Group,
		!r.Since.IsZero() && rec.Timestamp.Before(r.Since),
		!r.Until.IsZero() && !rec.Timestamp.Before(r.Until),
		!strings.Contains(headers[HeaderError], r.Error):
		return false
	}
	if len(r.EventIDs) > 0 {
		id, err := uuid.Parse(headers[HeaderEventID])
		if err != nil || !slices.Contains(r.EventIDs, id) {
			return false
		}
	}
	return r.Select == nil || r.Select(rec)
}

// throttle waits until the rate allows another record.
func (r *replay) throttle(ctx context.Context) error {
	now := time.Now()
	if wait := r.next.Sub(now); wait > 0 {
		if err := pauseFor(ctx, wait); err != nil {
			return err
		}
		now = r.next
	}
	r.next = now.Add(time.Duration(float64(time.Second) / r.Rate))
	return nil
}
