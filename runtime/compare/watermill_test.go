package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/jackc/pgx/v5"

	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// inTransaction is the handler that one writes first.
func inTransaction(ctx context.Context, w *world, o order) error {
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, markSQL, o.EventID, w.group)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, insertSQL, o.EventID, o.Key, o.Amount)
		return err
	})
}

// inOneStatement does the same in a single round trip.
func inOneStatement(ctx context.Context, w *world, o order) error {
	_, err := w.pool.Exec(ctx, `WITH fresh AS (
		INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING event_id)
		INSERT INTO ledger (event_id, key, amount) SELECT event_id, $3, $4 FROM fresh`, o.EventID, w.group, o.Key, o.Amount)
	return err
}

// watermillUntil runs a router of Watermill until it has handled count messages. begin is
// called with the first.
func (w *world) watermillUntil(count int, begin func(), handle func(context.Context, *world, order) error) {
	w.Helper()
	config := kafka.DefaultSaramaSubscriberConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	subscriber, err := kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: w.kafka.Brokers(), ConsumerGroup: w.group, Unmarshaler: kafka.DefaultMarshaler{}, OverwriteSaramaConfig: config,
	}, watermill.NopLogger{})
	if err != nil {
		w.Fatal(err)
	}
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		w.Fatal(err)
	}
	router.AddMiddleware(middleware.Retry{MaxRetries: 3, InitialInterval: 50 * time.Millisecond}.Middleware)
	var handled atomic.Int64
	done := make(chan struct{})
	first := sync.OnceFunc(begin)
	router.AddConsumerHandler("ledger", w.topic, subscriber, func(msg *message.Message) error {
		first()
		var o order
		if err := json.Unmarshal(msg.Payload, &o); err != nil {
			return fmt.Errorf("decoding the payload: %w", err)
		}
		if err := handle(msg.Context(), w, o); err != nil {
			return fmt.Errorf("applying event %s: %w", o.EventID, err)
		}
		if handled.Add(1) == int64(count) {
			close(done)
		}
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			w.Error(err)
		}
	}()
	w.await(done)
}

// TestWatermillAppliesEachEventOnceByTheMarkInItsTransaction shows that what is compared
// does its work, repeats included.
func TestWatermillAppliesEachEventOnceByTheMarkInItsTransaction(t *testing.T) {
	server := testpg.Start(t, testpg.Options{})
	for name, handle := range map[string]func(context.Context, *world, order) error{
		"a transaction": inTransaction, "one statement": inOneStatement,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, server, 2, 0)
			w.produce(2, 100, 2)
			w.watermillUntil(200, func() {}, handle)
			if rows, events := w.effects(); rows != 100 || events != 100 {
				t.Errorf("%d effects of %d events, want 100 of 100", rows, events)
			}
		})
	}
}
