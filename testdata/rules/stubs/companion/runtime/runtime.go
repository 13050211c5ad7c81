// Package runtime stands in for the companion runtime: its names and types, without what they do.
package runtime

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Consumer calls handlers.
type Consumer struct{}

// Event is what a handler gets.
type Event[T any] struct {
	ID      uuid.UUID
	Payload T
}

// Handle registers a handler.
func Handle[T any](c *Consumer, topic string, fn func(ctx context.Context, tx pgx.Tx, e Event[T]) error) {
}

// HandleBatch registers a handler of batches.
func HandleBatch[T any](c *Consumer, topic string, fn func(ctx context.Context, tx pgx.Tx, events []Event[T]) error) {
}

// Run calls the handlers.
func (c *Consumer) Run(ctx context.Context) error { return nil }

// IdempotencyKey is a key of the event in hand.
func IdempotencyKey(ctx context.Context, step string) (uuid.UUID, error) { return uuid.Nil, nil }

// KeyTransport sets the key.
type KeyTransport struct{ Base http.RoundTripper }

// RoundTrip sends a request.
func (t *KeyTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.Base.RoundTrip(req)
}
