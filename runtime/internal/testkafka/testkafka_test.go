package testkafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime/internal/testkafka"
)

func produce(t *testing.T, c *testkafka.Cluster, topic string, values ...string) {
	t.Helper()
	client := c.Client(t)
	for _, value := range values {
		record := &kgo.Record{Topic: topic, Value: []byte(value)}
		if err := client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
			t.Fatalf("produce to %s: %v", topic, err)
		}
	}
}

func TestTwoTopicsHaveTwoNames(t *testing.T) {
	c := testkafka.Start(t, testkafka.Options{})
	if one, other := c.Topic(t, 1), c.Topic(t, 1); one == other {
		t.Errorf("both topics are %s", one)
	}
}

func TestEndOffsetsCountRecords(t *testing.T) {
	c := testkafka.Start(t, testkafka.Options{})
	topic := c.Topic(t, 1)
	produce(t, c, topic, "a", "b", "c")
	ends, err := c.EndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	if len(ends) != 1 || ends[0] != 3 {
		t.Errorf("end offsets %v, want map[0:3]", ends)
	}
}

func TestCommittedAnswersWhatAGroupCommitted(t *testing.T) {
	c := testkafka.Start(t, testkafka.Options{})
	topic, group := c.Topic(t, 2), c.Group()
	client := c.Client(t, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	produce(t, c, topic, "a")
	fetches := client.PollFetches(t.Context())
	if err := fetches.Err(); err != nil {
		t.Fatal(err)
	}
	record := fetches.Records()[0]
	if err := client.CommitRecords(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	committed, err := c.Committed(t.Context(), group, topic)
	if err != nil {
		t.Fatal(err)
	}
	if len(committed) != 1 || committed[record.Partition] != 1 {
		t.Errorf("committed %v, want only partition %d at 1", committed, record.Partition)
	}
}

func TestARestartableClusterKeepsRecordsOverARestart(t *testing.T) {
	c := testkafka.Start(t, testkafka.Options{Restartable: true})
	topic := c.Topic(t, 1)
	produce(t, c, topic, "a", "b")
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	ends, err := c.EndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	if ends[0] != 2 {
		t.Errorf("end offset %d after the restart, want 2", ends[0])
	}
}

func TestStoppedBrokersDoNotAnswer(t *testing.T) {
	c := testkafka.Start(t, testkafka.Options{FakeOnly: true})
	client := c.Client(t)
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := client.Ping(ctx); err == nil {
		t.Error("a stopped cluster answered")
	}
}
