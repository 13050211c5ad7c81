package runtime

import (
	"context"
	"errors"
	"fmt"
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

// newProducer opens a client that writes with acks=all and consumes nothing. What
// KafkaOptions say about producing holds, but for what durability rests on.
func newProducer(brokers []string, options []kgo.Opt) (*kgo.Client, error) {
	opts := append(plainOptions(brokers, options),
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

// openProducer opens the client that failed records are written with and puts it in its
// place, if the configuration asks for one. A topic that the broker knows not to exist
// is an error here rather than when the first record fails. The returned function closes
// the client.
func (c *Consumer) openProducer(ctx context.Context) (closeIt func(), err error) {
	topics := c.cfg.writtenTopics()
	if len(topics) == 0 {
		return func() {}, nil
	}
	for _, topic := range topics {
		if c.handlers[topic] != nil {
			return nil, fmt.Errorf("failed records are written to topic %q, which a handler consumes", topic)
		}
	}
	if err := c.checkTopics(ctx, topics); err != nil {
		return nil, err
	}
	if c.cfg.DeadLetterOutbox {
		c.cfg.DeadLetter = &outboxDeadLetter{consumer: c, topic: c.cfg.DeadLetterTopic}
		return func() {}, nil
	}
	if c.producer, err = newProducer(c.cfg.Brokers, c.cfg.KafkaOptions); err != nil {
		return nil, err
	}
	if c.cfg.DeadLetterTopic != "" {
		c.cfg.DeadLetter = &topicDeadLetter{client: c.producer, topic: c.cfg.DeadLetterTopic, limit: c.cfg.produceTimeout()}
	}
	return c.producer.Close, nil
}

// writtenTopics are the topics that failed records are written to.
func (c Config) writtenTopics() []string {
	if c.DeadLetterTopic == "" {
		return nil
	}
	return []string{c.DeadLetterTopic}
}

func (c Config) produceTimeout() time.Duration { return min(produceTimeout, c.BatchTimeout) }

// checkTopics returns an error if a broker says that a topic does not exist. A broker
// that does not answer says nothing.
func (c *Consumer) checkTopics(ctx context.Context, topics []string) error {
	ctx, cancel := context.WithTimeout(ctx, offsetCommitTimeout)
	defer cancel()
	details, err := kadm.NewClient(c.admin).ListTopics(ctx, topics...)
	if err != nil {
		c.cfg.Logger.Warn("cannot tell whether the topics for failed records exist", "group", c.cfg.Group, "topics", topics, "error", err)
		return nil
	}
	for _, topic := range topics {
		if errors.Is(details[topic].Err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("topic %q for failed records does not exist; create it before the consumer starts: %w", topic, details[topic].Err)
		}
	}
	return nil
}
