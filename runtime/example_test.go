package runtime_test

import (
	"context"
	"log"
	"os/signal"
	"syscall"

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
