package runtimetest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

func TestRepeatAddsAShareOfRecordsAgainAfterTheFirst(t *testing.T) {
	t.Parallel()
	records := payments(1000)
	for _, share := range []float64{0, 0.28, 1} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			out := runtimetest.Repeat(records, share, rand.New(rand.NewPCG(1, 2)))
			extra := float64(len(out)-len(records)) / float64(len(records))
			if extra < share-0.05 || extra > share+0.05 {
				t.Errorf("%.0f%% of the records came twice, want %.0f%%", 100*extra, 100*share)
			}
			var firsts []*kgo.Record
			for i, r := range out {
				if slices.Index(out, r) == i {
					firsts = append(firsts, r)
				}
			}
			if !slices.Equal(firsts, records) {
				t.Error("the first deliveries are not the records in their order")
			}
		})
	}
}

func TestChaosRepeatsEachRecordAtMostOnceAndHarmsNoConsumer(t *testing.T) {
	t.Parallel()
	const events = 400
	pool := runtimetest.Postgres(t)
	broker := runtimetest.Kafka(t, topic)
	if err := tables(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	broker.Produce(t, payments(events)...)

	repeats := make(chan *kgo.Record, 2*events)
	chaosCtx, stopChaos := context.WithCancel(t.Context())
	type result struct {
		repeated int
		err      error
	}
	done := make(chan result, 1)
	go func() {
		n, err := runtimetest.Chaos{
			Brokers: broker.Addresses(), Topics: []string{topic}, Rate: 1, FromStart: true,
			OnRepeat: func(r *kgo.Record) { repeats <- r },
		}.Run(chaosCtx)
		done <- result{n, err}
	}()
	for range events {
		<-repeats
	}

	consumer, err := runtime.New(pool, runtime.Config{Brokers: broker.Addresses(), Group: "billing"})
	if err != nil {
		t.Fatal(err)
	}
	runtime.Handle(consumer, topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[payment]) error {
		return book(ctx, tx, e.Payload)
	})
	runCtx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- consumer.Run(runCtx) }()
	broker.AwaitGroup(t.Context(), t, "billing", topic)
	stop()
	stopChaos()
	if err := <-ran; err != nil {
		t.Errorf("consumer: %v", err)
	}
	chaos := <-done
	if chaos.err != nil || chaos.repeated != events {
		t.Errorf("chaos repeated %d records with error %v, want each of %d once", chaos.repeated, chaos.err, events)
	}
	var effects int
	if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM entry").Scan(&effects); err != nil {
		t.Fatal(err)
	}
	if effects != events {
		t.Errorf("%d effects of %d events", effects, events)
	}
}

func TestChaosRepeatsInThePartitionOfTheOriginal(t *testing.T) {
	t.Parallel()
	broker := runtimetest.Kafka(t, topic)
	records := payments(30)
	broker.Produce(t, records...)
	ctx, stop := context.WithCancel(t.Context())
	repeats := make(chan *kgo.Record, 60)
	done := make(chan error, 1)
	go func() {
		_, err := runtimetest.Chaos{Brokers: broker.Addresses(), Topics: []string{topic}, Rate: 1, FromStart: true,
			OnRepeat: func(r *kgo.Record) { repeats <- r }}.Run(ctx)
		done <- err
	}()
	partitionOf := map[string]int32{}
	for _, r := range records {
		partitionOf[string(r.Value)] = r.Partition
	}
	for range records {
		r := <-repeats
		if want := partitionOf[string(r.Value)]; r.Partition != want {
			t.Errorf("a record of partition %d was repeated in %d", want, r.Partition)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestChaosWithoutALimitIsRefused(t *testing.T) {
	t.Parallel()
	for name, chaos := range map[string]runtimetest.Chaos{
		"no brokers":    {Topics: []string{topic}, Rate: 0.1},
		"no topics":     {Brokers: []string{"localhost:1"}, Rate: 0.1},
		"no rate":       {Brokers: []string{"localhost:1"}, Topics: []string{topic}},
		"a rate over 1": {Brokers: []string{"localhost:1"}, Topics: []string{topic}, Rate: 1.5},
	} {
		if _, err := chaos.Run(t.Context()); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
}
