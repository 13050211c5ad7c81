package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produceTimeout bounds one attempt to write a record that a partition waits for, so
// that an alarm is not long in coming. The client tries again meanwhile by itself.
const produceTimeout = 10 * time.Second

// produceBackoff and maxProduceBackoff bound the wait before the client tries again. A
// partition or the outbox waits meanwhile, so that the client's own default, which is
// made for throughput, would be long.
const (
	produceBackoff    = 20 * time.Millisecond
	maxProduceBackoff = 250 * time.Millisecond
)

// maxProduced is the largest batch unless KafkaOptions say otherwise: what brokers take by
// default (message.max.bytes). The client's own default is less, and less than what other
// producers send, so that a record could be consumed and not be written again.
const maxProduced = 1<<20 + 12

// A producer writes with acks=all and consumes nothing. It is safe for concurrent use.
type producer struct {
	open func() (*kgo.Client, error)

	mu     sync.Mutex
	client *kgo.Client
	closed bool
}

func newProducer(brokers []string, options []kgo.Opt) (*producer, error) {
	p := &producer{open: func() (*kgo.Client, error) { return openProducer(brokers, options) }}
	var err error
	p.client, err = p.open()
	return p, err
}

// write is produce. A client does not write to a topic that was deleted and created again
// in its time; another one does. The topic could be purged from it instead, but then the
// broker might take what is written next for a repeat of what was written before.
func (p *producer) write(ctx context.Context, limit time.Duration, rec *kgo.Record) error {
	p.mu.Lock()
	client := p.client
	p.mu.Unlock()
	err := produce(ctx, client, limit, rec)
	if errors.Is(err, kerr.UnknownTopicID) {
		p.renew(client)
	}
	return err
}

// renew puts a new client in the place of old. What others write through old at the moment
// fails, and is tried again.
func (p *producer) renew(old *kgo.Client) {
	p.mu.Lock()
	if p.closed || p.client != old {
		p.mu.Unlock()
		return
	}
	client, err := p.open()
	if err == nil {
		p.client = client
	}
	p.mu.Unlock()
	if err == nil {
		old.Close()
	}
}

func (p *producer) close() {
	p.mu.Lock()
	p.closed = true
	client := p.client
	p.mu.Unlock()
	client.Close()
}

// openProducer opens a client for a producer. What KafkaOptions say about producing holds,
// but for what durability rests on.
func openProducer(brokers []string, options []kgo.Opt) (*kgo.Client, error) {
	opts := append([]kgo.Opt{kgo.ProducerBatchMaxBytes(maxProduced)}, plainOptions(brokers, options)...)
	opts = append(opts,
		kgo.RequiredAcks(kgo.AllISRAcks()),
		// A record in flight to a broker that is gone must not be waited for beyond the
		// deadline. It may then be written twice, which deduplication has an answer to.
		kgo.AllowIdempotentProduceCancellation(),
		kgo.ProducerLinger(0),
		kgo.MetadataMinAge(maxProduceBackoff), // a partition that failed is not tried before
		kgo.RetryBackoffFn(func(attempt int) time.Duration {
			return min(produceBackoff<<min(attempt, 10), maxProduceBackoff)
		}),
	)
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("configuring Kafka producer: %w", err)
	}
	if manual, _ := client.OptValue(kgo.ManualFlushing).(bool); manual {
		client.Close()
		return nil, errors.New("configuring Kafka producer: KafkaOptions hold ManualFlushing, with which nothing would be sent")
	}
	return client, nil
}

// plainOptions are those of a client that is no member of a group and consumes nothing.
func plainOptions(brokers []string, options []kgo.Opt) []kgo.Opt {
	var opts []kgo.Opt
	for _, opt := range options {
		_, group := opt.(kgo.GroupOpt)
		_, consumer := opt.(kgo.ConsumerOpt)
		if !group && !consumer {
			opts = append(opts, opt)
		}
	}
	return append(opts, kgo.SeedBrokers(brokers...))
}

// produce writes one record and returns once all in-sync replicas have it, after limit
// at the latest: the client itself looks at the deadline only between two requests. The
// record may still be written after an error.
func produce(ctx context.Context, client *kgo.Client, limit time.Duration, rec *kgo.Record) error {
	bounded, cancel := context.WithTimeoutCause(ctx, limit,
		fmt.Errorf("no answer within %s: %w", limit, context.DeadlineExceeded))
	defer cancel()
	answer := make(chan error, 1)
	client.Produce(bounded, rec, func(_ *kgo.Record, err error) { answer <- err })
	var err error
	select {
	case err = <-answer:
		if err != nil && bounded.Err() != nil {
			err = errors.Join(context.Cause(bounded), err)
		}
	case <-bounded.Done():
		err = context.Cause(bounded)
	}
	if err != nil {
		return fmt.Errorf("writing to topic %q: %w", rec.Topic, err)
	}
	return nil
}

// registerRedelivery registers the topics that failed records come back by.
func (c *Consumer) registerRedelivery() error {
	for _, topic := range c.cfg.failureTopics() {
		if c.handlers[topic] != nil {
			return fmt.Errorf("topic %q is for failed records, but a handler consumes it", topic)
		}
	}
	back := &redeliveryHandler{handlers: c.handlers}
	for topic := range c.cfg.redeliveryTopics() {
		c.consume(topic, back)
	}
	return nil
}

// openFailurePaths makes what failed records are written with, if the configuration asks
// for any. A topic that the broker knows not to exist is an error here rather than when
// the first record fails. The returned function closes the client.
func (c *Consumer) openFailurePaths(ctx context.Context) (closeIt func(), err error) {
	topics := c.cfg.failureTopics()
	if len(topics) == 0 {
		return func() {}, nil
	}
	if err := c.checkTopics(ctx, topics); err != nil {
		return nil, err
	}
	paths := &failurePaths{cfg: c.cfg, last: c.cfg.DeadLetter}
	closeIt = func() {}
	if c.cfg.DeadLetterOutbox {
		paths.write = c.failedToOutbox
	} else {
		producer, err := newProducer(c.cfg.Brokers, c.cfg.KafkaOptions)
		if err != nil {
			return nil, err
		}
		closeIt = producer.close
		paths.write = func(ctx context.Context, topic string, failed FailedRecord) error {
			return producer.write(ctx, c.cfg.produceTimeout(), failedCopy(topic, failed))
		}
	}
	if c.cfg.DeadLetterTopic != "" || len(c.cfg.RetryTopics) > 0 {
		c.cfg.DeadLetter = paths
	}
	return closeIt, nil
}

// failureTopics are the topics of failed records.
func (c Config) failureTopics() []string {
	topics := slices.Sorted(maps.Keys(c.redeliveryTopics()))
	if c.DeadLetterTopic != "" {
		topics = append(topics, c.DeadLetterTopic)
	}
	return topics
}

func (c Config) produceTimeout() time.Duration { return min(produceTimeout, c.BatchTimeout) }

// settleTime is how long a broker may say of a topic that was just created that it does
// not exist.
const settleTime = 3 * time.Second

// checkTopics returns an error if a broker says that a topic does not exist, or would not
// keep a record for as long as it has to wait there. A broker that does not answer says
// nothing.
func (c *Consumer) checkTopics(ctx context.Context, topics []string) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime+offsetCommitTimeout)
	defer cancel()
	admin := kadm.NewClient(c.admin)
	began := time.Now()
	missing, err := missingTopic(ctx, admin, topics)
	for err == nil && missing != nil && time.Since(began) < settleTime {
		if err = pauseFor(ctx, settleTime/10); err == nil {
			missing, err = missingTopic(ctx, admin, topics)
		}
	}
	if err == nil && missing != nil {
		return missing
	}
	var configs kadm.ResourceConfigs
	if err == nil {
		configs, err = admin.DescribeTopicConfigs(ctx, topics...)
	}
	if err != nil {
		c.cfg.Logger.Warn("cannot tell whether the topics for failed records are fit", "group", c.cfg.Group, "topics", topics, "error", err)
		return nil
	}
	back := c.cfg.redeliveryTopics()
	for _, of := range configs {
		if err := fitToWait(of, back[of.Name].delay); err != nil {
			return err
		}
	}
	return nil
}

// missingTopic is an error about the first of topics that does not exist, nil if all do.
func missingTopic(ctx context.Context, admin *kadm.Client, topics []string) (missing, err error) {
	details, err := admin.ListTopics(ctx, topics...)
	if err != nil {
		return nil, err
	}
	for _, topic := range topics {
		if err := details[topic].Err; errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("topic %q for failed records does not exist; create it before the consumer starts: %w", topic, err), nil
		}
	}
	return nil, nil
}

// fitToWait tells why a record that waits in a topic might vanish from it.
func fitToWait(of kadm.ResourceConfig, delay time.Duration) error {
	for _, entry := range of.Configs {
		value := entry.MaybeValue()
		switch entry.Key {
		case "cleanup.policy":
			if strings.Contains(value, "compact") {
				return fmt.Errorf("topic %q for failed records is compacted, which drops all but the last of a key: set cleanup.policy=delete", of.Name)
			}
		case "retention.ms":
			ms, err := strconv.ParseInt(value, 10, 64)
			if err == nil && ms >= 0 && delay > 0 && ms <= delay.Milliseconds() {
				return fmt.Errorf("topic %q keeps records for %d ms, and those in it wait for %d ms: raise its retention.ms", of.Name, ms, delay.Milliseconds())
			}
		}
	}
	return nil
}
