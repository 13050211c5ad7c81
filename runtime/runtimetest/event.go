package runtimetest

import (
	"context"

	"github.com/google/uuid"

	"github.com/idemlint/idemlint/runtime/internal/idemkey"
)

// WithEvent returns a context like the one that a consumer of the group calls a handler with for the event: it has
// the event's idempotency keys. It is for tests that call a handler, or what is behind it, by themselves. Each such
// context is an attempt of its own, and never too old for its keys.
func WithEvent(ctx context.Context, group string, id uuid.UUID) context.Context {
	return idemkey.With(ctx, &idemkey.Scope{Event: id, Group: group})
}
