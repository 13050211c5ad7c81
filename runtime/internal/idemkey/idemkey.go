// Package idemkey knows which event a context belongs to, which idempotency keys its calls get, and which calls of
// an attempt have got theirs. Package runtime, its transports and its test kit share it; it is internal so that
// nobody else can make a context speak for an event that is not being handled.
//
// It knows nothing of HTTP, gRPC, Kafka or PostgreSQL.
package idemkey

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"
)

// The errors of this package, which runtime exports under the same names.
var (
	ErrNoEvent   = errors.New("the context belongs to no event")
	ErrSharedKey = errors.New("two calls of one event would share an idempotency key")
)

// Of returns the key of a step of an event's processing by a group: the UUID v5 (RFC 9562, section 5.5) whose
// namespace is the event's id, of the group, a zero byte and the step. A group holds no zero byte, so no two pairs
// of group and step are alike.
func Of(event uuid.UUID, group, step string) uuid.UUID {
	return uuid.NewSHA1(event, []byte(group+"\x00"+step))
}

// A Scope is one attempt at one event: it hands out the event's keys and remembers which call got which.
type Scope struct {
	Event uuid.UUID
	Group string
	// Default is the step whose key calls without a step get, empty for one that no other call can have.
	Default string
	// Expired returns why an event's keys must not be used any more, or nil. Without it they are always good.
	Expired func(event uuid.UUID) error

	mu    sync.Mutex
	calls map[string]*Call // by step
}

// A Call is what a key was given to. It is the caller's until Ended.
type Call struct {
	scope    *Scope
	target   string
	body     *[sha256.Size]byte
	inFlight int
	failed   bool
}

// Key returns the key of a step.
func (s *Scope) Key(step string) (uuid.UUID, error) {
	if s.Expired != nil {
		if err := s.Expired(s.Event); err != nil {
			return uuid.Nil, err
		}
	}
	return Of(s.Event, s.Group, step), nil
}

// Begin returns the key for a call of a step, empty for the step without a name. target is what is called, such as
// method and address, and body the digest of what is sent, nil if that cannot be known. Call.Ended must be called
// when the outcome is known. Begin refuses the call if another one of this attempt has the same key and may be a
// different one:
//
//   - Two calls of a named step are the same if they send the same to the same target, or if the first has failed
//     and nobody can know what one of them sends.
//   - A second call without a name is the first one again only if that has failed, and the same is sent to the same
//     target. A success is not tried again, so a second call after it is meant to do something, too.
func (s *Scope) Begin(step, target string, body *[sha256.Size]byte) (uuid.UUID, *Call, error) {
	name := step
	if step == "" {
		name = s.Default
	}
	key, err := s.Key(name)
	if err != nil {
		return uuid.Nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	call := s.calls[name]
	if call == nil {
		call = &Call{scope: s, target: target, body: body}
		if s.calls == nil {
			s.calls = make(map[string]*Call)
		}
		s.calls[name] = call
	} else if !call.again(step != "", target, body) {
		return uuid.Nil, nil, s.shared(step, call.target, target)
	}
	call.inFlight++
	return key, call, nil
}

func (s *Scope) shared(step, first, second string) error {
	if step == "" {
		return fmt.Errorf("%w: event %s has made %s and now makes %s, neither in a step that has a name; give each its own by WithStep",
			ErrSharedKey, s.Event, first, second)
	}
	return fmt.Errorf("%w: event %s has made %s in step %q and now makes %s in it, or the same with other content; give each its own by WithStep",
		ErrSharedKey, s.Event, first, step, second)
}

// again tells whether a call is this one, tried once more. The scope's lock is held.
func (c *Call) again(named bool, target string, body *[sha256.Size]byte) bool {
	if c.target != target {
		return false
	}
	known := c.body != nil && body != nil
	failed := c.failed && c.inFlight == 0
	if named {
		return known && *c.body == *body || !known && failed
	}
	return known && *c.body == *body && failed
}

// Ended tells the outcome: failed means that trying the call again would be no surprise.
func (c *Call) Ended(failed bool) {
	c.scope.mu.Lock()
	defer c.scope.mu.Unlock()
	c.inFlight--
	c.failed = failed
}

// A Batch is an attempt at many events at once. Most handlers ask for no event's scope, so
// they are made when one does.
type Batch struct {
	events  []uuid.UUID
	group   string
	expired func(uuid.UUID) error

	once   sync.Once
	scopes map[uuid.UUID]*Scope
}

// NewBatch returns a batch of events, whose scopes have the given Group and Expired.
func NewBatch(events []uuid.UUID, group string, expired func(uuid.UUID) error) *Batch {
	return &Batch{events: events, group: group, expired: expired}
}

// scope returns an event's scope, nil if the event is none of the batch's.
func (b *Batch) scope(event uuid.UUID) *Scope {
	b.once.Do(func() {
		b.scopes = make(map[uuid.UUID]*Scope, len(b.events))
		for _, event := range b.events {
			b.scopes[event] = &Scope{Event: event, Group: b.group, Expired: b.expired}
		}
	})
	return b.scopes[event]
}

type (
	scopeKey struct{}
	stepKey  struct{}
)

// With returns a context that belongs to the scope's event.
func With(ctx context.Context, s *Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// Attempts makes the contexts of a batch's events, handled one after the other, in one
// piece of memory.
type Attempts struct{ free []attempt }

// attempt is a context with the scope it belongs to.
type attempt struct {
	context.Context
	scope Scope
}

func (a *attempt) Value(key any) any {
	if key == (scopeKey{}) {
		return &a.scope
	}
	return a.Context.Value(key)
}

// NewAttempts returns memory for n contexts.
func NewAttempts(n int) Attempts { return Attempts{free: make([]attempt, n)} }

// With is like the function of that name, for a scope of the given event. It must not be
// called more often than there is memory for.
func (a *Attempts) With(ctx context.Context, event uuid.UUID, group string, expired func(uuid.UUID) error) context.Context {
	next := &a.free[0]
	a.free = a.free[1:]
	next.Context = ctx
	next.scope.Event, next.scope.Group, next.scope.Expired = event, group, expired
	return next
}

// WithBatch returns a context that belongs to a batch's events, and to none of them before ForEvent.
func WithBatch(ctx context.Context, b *Batch) context.Context {
	return context.WithValue(ctx, scopeKey{}, b)
}

// ForEvent returns a context for one event of those that ctx belongs to. If it is none of them, every use of its
// keys is an error.
func ForEvent(ctx context.Context, event uuid.UUID) context.Context {
	switch of := ctx.Value(scopeKey{}).(type) {
	case *Batch:
		if s := of.scope(event); s != nil {
			return With(ctx, s)
		}
	case *Scope:
		if of.Event == event {
			return ctx
		}
	case nil:
		return ctx
	}
	return context.WithValue(ctx, scopeKey{}, stranger(event))
}

// stranger is an event that is not being handled.
type stranger uuid.UUID

// From returns the scope that ctx belongs to. Its error wraps ErrNoEvent and says the way out.
func From(ctx context.Context) (*Scope, error) {
	switch of := ctx.Value(scopeKey{}).(type) {
	case *Scope:
		return of, nil
	case *Batch:
		return nil, fmt.Errorf("%w alone, but to a batch of them; call it with the context that ForEvent returns for one", ErrNoEvent)
	case stranger:
		return nil, fmt.Errorf("%w that is being handled: %s is none of those of the handler", ErrNoEvent, uuid.UUID(of))
	default:
		return nil, fmt.Errorf("%w; use the context that the handler was called with, or one made from it", ErrNoEvent)
	}
}

// WithStep returns a context whose calls are the given step.
func WithStep(ctx context.Context, step string) context.Context {
	return context.WithValue(ctx, stepKey{}, step)
}

// Step returns the step of ctx, empty if it has none.
func Step(ctx context.Context) string {
	step, _ := ctx.Value(stepKey{}).(string)
	return step
}
