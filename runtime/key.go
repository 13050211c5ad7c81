package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/idemlint/idemlint/runtime/internal/idemkey"
)

var (
	// ErrNoEvent is what a call gets that needs an idempotency key and whose context
	// is not that of a handler, or is that of a batch handler (see ForEvent). It is a
	// mistake of the code and no record's: the batch is tried again with an alarm,
	// and nothing of it is dead-lettered.
	ErrNoEvent = idemkey.ErrNoEvent

	// ErrSharedKey is what a call gets that would have the idempotency key of another
	// call of the same event, of which the provider would do only the first. See
	// WithStep for the way out. It is a mistake of the code, like ErrNoEvent.
	ErrSharedKey = idemkey.ErrSharedKey
)

// defaultKeyLifetime is how long Stripe keeps a key at least, and several other
// providers do (https://docs.stripe.com/api/idempotent_requests).
const defaultKeyLifetime = 24 * time.Hour

// IdempotencyKey returns the key for a call that a handler makes to the world
// outside of its transaction, so that a provider which deduplicates by keys does the
// call once however often the event is delivered. ctx is the context that the handler
// was called with, or one made from it.
//
// The key is a UUID v5 of the event's id, the consumer group and step, and of nothing
// that may change: the same for every delivery and every attempt, whatever the call
// sends. step is a word for what is done (“charge”, “refund”), never empty; two calls
// of one event that are not to be taken for one need two steps. The same step twice is
// the same key. An algorithm or a group that changed would make all keys anew, so
// neither may while events are on their way.
//
// It returns ErrNoEvent outside of a handler and in a batch handler, where ForEvent
// leads to a context for one event; and a *KeyExpiredError, to be returned from the
// handler, for an event that is older than Config.KeyLifetime.
func IdempotencyKey(ctx context.Context, step string) (uuid.UUID, error) {
	if step == "" {
		return uuid.Nil, errors.New("idempotency key: the step is empty; name what the call does, such as \"charge\"")
	}
	scope, err := idemkey.From(ctx)
	if err != nil {
		return uuid.Nil, fmt.Errorf("idempotency key of step %q: %w", step, err)
	}
	key, err := scope.Key(step)
	if err != nil {
		return uuid.Nil, fmt.Errorf("idempotency key of step %q: %w", step, err)
	}
	return key, nil
}

// WithStep returns a context whose calls by a KeyTransport, or by the interceptors of
// package grpcidem, are the given step of the event's processing. An event that makes
// one call needs no step; of two calls each needs its own, since the key is made of it.
// An empty step is the one without a name.
func WithStep(ctx context.Context, step string) context.Context { return idemkey.WithStep(ctx, step) }

// ForEvent returns a context for one of the events that a batch handler was called
// with: a call made with it gets that event's keys. Calls for an event are counted
// over all contexts that ForEvent returns for it in one attempt. With the context of
// a handler for single events it returns a context for the same event. If e is not
// being handled there, the keys of the returned context are errors.
func ForEvent[T any](ctx context.Context, e Event[T]) context.Context {
	return idemkey.ForEvent(ctx, e.ID)
}

// A KeyExpiredError says that an event is so old that a provider may have forgotten
// the keys of an earlier attempt at it, if there was one: a call now could move the
// money a second time, and no program can tell. A handler returns it, wrapped or not;
// the record then goes to the quarantine with ReasonKeyExpired, and the partition goes
// on.
//
// A person looks up at the provider whether the call was made. If it was not, the
// event is sent anew with a fresh id.
type KeyExpiredError struct {
	EventID uuid.UUID
	// Since is when the key may have been used first: the time in the event's id
	// or, with HandleCall, that of the intent. Zero if the id tells no time.
	Since time.Time
	// Lifetime is Config.KeyLifetime.
	Lifetime time.Duration
}

func (e *KeyExpiredError) Error() string {
	if e.Since.IsZero() {
		return fmt.Sprintf("event %s does not tell its age, so the provider may have forgotten its idempotency key", e.EventID)
	}
	return fmt.Sprintf("event %s has had its idempotency key since %s, and the provider keeps keys for %s", e.EventID, stamp(e.Since), e.Lifetime)
}

// Reasons for which a record is parked, beside those of an OutOfWindowError, as they
// stand in quarantined_event.reason.
const (
	// ReasonKeyExpired: the provider may have forgotten the event's idempotency key.
	ReasonKeyExpired Reason = "idempotency_key_expired"
	// ReasonCallUnknown: a call was tried for long, and its outcome is still unknown.
	ReasonCallUnknown Reason = "call_outcome_unknown"
)

// checkKeyAge judges by the time in the event's id: nothing else that is known is
// older than the first attempt, which may have been made by a process long dead.
func (c *Consumer) checkKeyAge(id uuid.UUID) error {
	if c.cfg.KeyLifetime < 0 {
		return nil
	}
	since, ok := EventTime(id)
	if ok && c.maintainer.Now().Sub(since) < c.cfg.KeyLifetime {
		return nil
	}
	return &KeyExpiredError{EventID: id, Since: since, Lifetime: c.cfg.KeyLifetime}
}
