package runtime_test

import (
	"context"
	"fmt"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
)

// OrderConfirmed is the payload of an event: {"eventId": "0192…", "orderId": "0192…", "cents": 4200}.
type OrderConfirmed struct {
	OrderID uuid.UUID `json:"orderId"`
	Cents   int64     `json:"cents"`
}

// A service that writes an invoice for every confirmed order, once.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, "postgres://localhost/billing")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	if _, err := runtime.Migrate(ctx, pool); err != nil {
		log.Fatal(err)
	}

	consumer, err := runtime.New(pool, runtime.Config{
		Brokers: []string{"localhost:9092"},
		Group:   "billing-service",
	})
	if err != nil {
		log.Fatal(err)
	}
	runtime.Handle(consumer, "order-service.order.confirmed",
		func(ctx context.Context, tx pgx.Tx, e runtime.Event[OrderConfirmed]) error {
			return runtime.Queue(ctx, tx, `INSERT INTO invoice (event_id, order_id, cents) VALUES ($1, $2, $3)`,
				e.ID, e.Payload.OrderID, e.Payload.Cents)
		})
	if err := consumer.Run(ctx); err != nil {
		log.Print(err)
	}
}

// A handler that writes all fresh events of a batch with one statement.
func ExampleHandleBatch() {
	var consumer *runtime.Consumer // of runtime.New
	runtime.HandleBatch(consumer, "order-service.order.confirmed",
		func(ctx context.Context, tx pgx.Tx, events []runtime.Event[OrderConfirmed]) error {
			rows := make([][]any, len(events))
			for i, e := range events {
				rows[i] = []any{e.ID, e.Payload.OrderID, e.Payload.Cents}
			}
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"invoice"}, []string{"event_id", "order_id", "cents"}, pgx.CopyFromRows(rows))
			return err
		})
}

// A service that emits an event with every invoice, and keeps records that fail.
func ExampleEmit() {
	var pool *pgxpool.Pool
	consumer, err := runtime.New(pool, runtime.Config{
		Brokers: []string{"localhost:9092"},
		Group:   "billing-service",
		Relay:   &runtime.RelayConfig{}, // publishes what handlers emit
		RetryTopics: []runtime.RetryTopic{
			{Topic: "billing-service.retry.1m", Delay: time.Minute},
			{Topic: "billing-service.retry.1h", Delay: time.Hour},
		},
		DeadLetterTopic: "billing-service.dead-letter",
		ReplayTopic:     "billing-service.replay",
	})
	if err != nil {
		log.Fatal(err)
	}
	type InvoiceIssued struct {
		EventID uuid.UUID `json:"eventId"` // Emit fills it in
		OrderID uuid.UUID `json:"orderId"`
	}
	runtime.Handle(consumer, "order-service.order.confirmed",
		func(ctx context.Context, tx pgx.Tx, e runtime.Event[OrderConfirmed]) error {
			if e.Payload.Cents < 0 {
				return fmt.Errorf("order %s: %d cents: %w", e.Payload.OrderID, e.Payload.Cents, runtime.ErrPermanent)
			}
			err := runtime.Queue(ctx, tx, `INSERT INTO invoice (event_id, order_id, cents) VALUES ($1, $2, $3)`,
				e.ID, e.Payload.OrderID, e.Payload.Cents)
			if err != nil {
				return err
			}
			_, err = runtime.Emit(ctx, tx, "billing-service.invoice.issued", e.Payload.OrderID.String(),
				InvoiceIssued{OrderID: e.Payload.OrderID})
			return err
		})
}

// What failed yesterday for want of a customer, once the customers are there.
func ExampleReplay() {
	done, err := runtime.Replay(context.Background(), runtime.ReplayConfig{
		Brokers:         []string{"localhost:9092"},
		Group:           "billing-service",
		DeadLetterTopic: "billing-service.dead-letter",
		ReplayTopic:     "billing-service.replay",
		Since:           time.Now().Add(-24 * time.Hour),
		Error:           "no such customer",
		DryRun:          true, // look first
	})
	log.Print(done.Selected, " dead letters would be replayed", err)
}
