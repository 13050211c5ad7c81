package runtimetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

// OrderConfirmed is what the service under test consumes.
type OrderConfirmed struct {
	EventID uuid.UUID `json:"eventId"`
	OrderID string    `json:"orderId"`
}

// A test of a service's handler: it passes as long as whatever happens to the consumer or its connection, the same
// invoices are there in the end.
func ExampleAssertIdempotent() {
	_ = func(t *testing.T) { // in a _test.go file: func TestInvoicesAreWrittenOnce(t *testing.T)
		id := runtimetest.IDAt(time.Now()).String()
		runtimetest.AssertIdempotent(t, runtimetest.Service{
			Setup: func(ctx context.Context, pool *pgxpool.Pool) error {
				_, err := pool.Exec(ctx, "CREATE TABLE invoice (event_id uuid, order_id text)")
				return err
			},
			Register: func(c *runtime.Consumer, _ *pgxpool.Pool) {
				runtime.Handle(c, "order-service.order.confirmed",
					func(ctx context.Context, tx pgx.Tx, e runtime.Event[OrderConfirmed]) error {
						_, err := tx.Exec(ctx, "INSERT INTO invoice VALUES ($1, $2)", e.ID, e.Payload.OrderID)
						return err
					})
			},
			Records: []*kgo.Record{{
				Topic: "order-service.order.confirmed",
				Key:   []byte("order-1"),
				Value: []byte(`{"eventId": "` + id + `", "orderId": "order-1"}`),
			}},
		})
	}
}
