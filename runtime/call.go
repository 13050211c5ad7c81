package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/idemlint/idemlint/runtime/internal/idemkey"
)

// A Call says how an event is handled by one call to the world outside, such as a
// payment provider, in two transactions: see HandleCall. Q is what the call sends and
// R what it brings back. Step, Do and Result are required; for every other field the
// zero value means the default its comment states.
type Call[T, Q, R any] struct {
	// Step names the call, for its idempotency key and in call_intent. It must not
	// change while events are on their way.
	Step string

	// Intent runs in the first transaction, once for every event that commits. It
	// writes what has to be there before the call and returns what the call is to
	// send. The runtime stores that as JSON and gives it to Do on every attempt, so
	// that a call that is tried again sends the same although the world has changed:
	// providers refuse a key that comes with another request. What must not be stored,
	// such as a card's number, is not for Q. Without Intent nothing is written but the
	// intent itself, and Do gets the zero Q.
	Intent func(ctx context.Context, tx pgx.Tx, e Event[T]) (Q, error)

	// Do makes the call. It runs outside of any transaction and holds no connection.
	// It may run several times for one event, in the end in two processes at once, and
	// each time must use the event's idempotency key: through a KeyTransport or the
	// interceptors of package grpcidem, whose calls without a step are in Step here,
	// or by IdempotencyKey(ctx, Step).
	//
	// If it returns nil the result is known and is not asked for again. A refusal
	// (the card was declined) is mostly such a result, for Result to write down. An
	// error wrapped by Definite says that nothing was done and never will be. Any other
	// error, a panic, and the end of ctx say that nobody knows: Do is tried again with
	// the same key.
	//
	// Do must give up soon when ctx ends.
	Do func(ctx context.Context, e Event[T], request Q) (R, error)

	// Result runs in the second transaction, with the mark that the event is processed,
	// under the same rules as a handler of Handle.
	Result func(ctx context.Context, tx pgx.Tx, e Event[T], result R) error

	// Timeout bounds one run of Do, 10 s by default. After a crash it takes up to three
	// times that before another consumer makes the call again.
	Timeout time.Duration
	// Parallel is how many calls are made at once, 16 by default, at most
	// Config.BatchSize; with Config.Concurrency above one, for each of these. Records
	// with the same key stay in order, and records without a key count as one key.
	Parallel int
	// ParkAfter is how long after its intent a call whose outcome stays unknown is
	// tried again, with its partition waiting and alarms, before its record goes to the
	// quarantine with ReasonCallUnknown. Config.KeyLifetime by default and at most.
	ParkAfter time.Duration
}

// HandleCall registers, for the events of a topic, a call to the world outside that is
// made once however often the event is delivered, without holding a transaction or a
// connection while the provider thinks. It goes in three steps:
//
//  1. In a first transaction Intent runs and a row in call_intent is written, with the
//     idempotency key and what will be sent.
//  2. Do makes the call, outside of any transaction.
//  3. In a second one Result runs, the event is marked as processed and the row goes.
//     Only then does the record count as completed.
//
// After a crash the record is delivered again and goes on where it was: without a row
// from the beginning, with one from the call, which is made (again) with the same key
// and the same request; with the mark it is a duplicate. Two consumers that have the
// event at the same time, as around a rebalance, keep off each other by a lease on the
// row. The lease is for the provider's comfort; that money moves once follows from the
// key, and that the result is written once from the mark.
//
// A row that is older than Config.KeyLifetime when its call is due again goes to the
// quarantine with ReasonKeyExpired: the provider may have forgotten the key. The age
// counts from the first transaction, so unlike with IdempotencyKey in a handler of
// Handle an event that was never tried is never too old. A person looks up at the
// provider whether the call was made; call_intent has its key. If it was not, DELETE the
// row and send the record again. If it was, book it by hand, INSERT the mark into
// processed_event and DELETE the row.
//
// An error of Intent, of Result, or a definite one of Do is treated like one of Handle:
// see Config.DeadLetter. If Result fails for good, the call has been made, and its row
// stays to show it.
//
// An event that comes in another topic of the group, too, needs a HandleCall of the same
// Step there. With another Step it may be called for under both keys, and beside a handler
// of Handle it may be called for without Result being run: whoever is done first marks it.
//
// HandleCall must be called before Run, once for a topic; Run reports misuse.
func HandleCall[T, Q, R any](c *Consumer, topic string, call Call[T, Q, R]) {
	if err := call.validate(c.cfg); err != nil {
		c.misuse(fmt.Errorf("topic %q: %w", topic, err))
		return
	}
	c.register(topic, &callHandler[T, Q, R]{consumer: c, call: call.withDefaults(c.cfg)})
}

func (call Call[T, Q, R]) validate(cfg Config) error {
	switch {
	case call.Step == "", !utf8.ValidString(call.Step), strings.ContainsRune(call.Step, 0):
		return fmt.Errorf("Call.Step %q is empty or cannot be stored as text", call.Step)
	case call.Do == nil:
		return errors.New("Call.Do is nil")
	case call.Result == nil:
		return errors.New("Call.Result is nil")
	case call.Timeout < 0:
		return fmt.Errorf("Call.Timeout %s is negative", call.Timeout)
	case call.Parallel < 0 || call.Parallel > cfg.BatchSize:
		return fmt.Errorf("Call.Parallel %d is not between 1 and BatchSize %d", call.Parallel, cfg.BatchSize)
	case call.ParkAfter < 0:
		return fmt.Errorf("Call.ParkAfter %s is negative", call.ParkAfter)
	}
	return nil
}

func (call Call[T, Q, R]) withDefaults(cfg Config) Call[T, Q, R] {
	if call.Timeout == 0 {
		call.Timeout = 10 * time.Second
	}
	if call.Parallel == 0 {
		call.Parallel = min(16, cfg.BatchSize)
	}
	return call
}

// Definite says of an error of Call.Do that nothing was done at the provider and nothing
// will be, whoever asks again with this key. The record failed by its own fault, and its
// intent is taken back.
func Definite(err error) error {
	if err == nil {
		return nil
	}
	return &definiteError{err}
}

type definiteError struct{ err error }

func (e *definiteError) Error() string { return e.err.Error() }
func (e *definiteError) Unwrap() error { return e.err }

// A CallUnknownError says that an event's call was tried for Call.ParkAfter without its
// outcome becoming known. The record is in the quarantine with ReasonCallUnknown; see
// HandleCall for what a person does about it.
type CallUnknownError struct {
	EventID uuid.UUID
	Step    string
	// Age is the time since the intent.
	Age time.Duration
	// Err is what the last attempt failed with.
	Err error
}

func (e *CallUnknownError) Error() string {
	return fmt.Sprintf("call %q of event %s: outcome unknown after %s: %v", e.Step, e.EventID, e.Age.Round(time.Millisecond), e.Err)
}

func (e *CallUnknownError) Unwrap() error { return e.Err }

// caller is a handler in two transactions.
type caller interface {
	handler
	settings() callSettings
}

type callSettings struct {
	step               string
	timeout, parkAfter time.Duration
	parallel           int
}

// calls is a batch of events each of which is a call. It cannot be run like another:
// its events are not done when a transaction is.
type calls interface {
	batch
	// intents returns a batch that runs the intents of the same events.
	intents() batch
	// request returns what the intent of event i, which has run, says to send.
	request(i int) []byte
	// do makes the call of event i and returns its answer. It is called from several
	// goroutines at once.
	do(ctx context.Context, i int, request []byte) (answer any, err error)
	// results returns a batch that writes what do has returned, by event.
	results(answers map[uuid.UUID]any) batch
}

type callHandler[T, Q, R any] struct {
	consumer *Consumer
	call     Call[T, Q, R]
}

func (h *callHandler[T, Q, R]) settings() callSettings {
	return callSettings{step: h.call.Step, timeout: h.call.Timeout, parkAfter: h.call.ParkAfter, parallel: h.call.Parallel}
}

func (h *callHandler[T, Q, R]) newBatch(dec Decoder, capacity int) batch {
	b := &callBatch[T, Q, R]{
		h: h, requests: make(map[uuid.UUID][]byte), shared: make(map[uuid.UUID]*idemkey.Scope),
	}
	b.typedBatch = typedBatch[T]{
		handler: &typedHandler[T]{consumer: h.consumer, scope: b.scope, one: b.intend},
		decoder: dec, events: make([]Event[T], 0, capacity),
	}
	return b
}

// run refuses: to mark the events of these intents as processed would be to lose the
// calls.
func (b *callBatch[T, Q, R]) run(context.Context, *batchTx, []int) error {
	return &databaseError{doing: "handling calls", err: errors.New("their intents alone are no end of them")}
}

func (b *callBatch[T, Q, R]) intents() batch { return &b.typedBatch }

type callBatch[T, Q, R any] struct {
	typedBatch[T]
	h        *callHandler[T, Q, R]
	requests map[uuid.UUID][]byte

	mu     sync.Mutex
	shared map[uuid.UUID]*idemkey.Scope
}

// scope returns what an event's calls in all three steps are counted in. It has no
// limit of age: the intent has one.
func (b *callBatch[T, Q, R]) scope(id uuid.UUID) *idemkey.Scope {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shared[id] == nil {
		b.shared[id] = &idemkey.Scope{Event: id, Group: b.h.consumer.cfg.Group, Default: b.h.call.Step}
	}
	return b.shared[id]
}

// intend is the handler of the first transaction.
func (b *callBatch[T, Q, R]) intend(ctx context.Context, tx pgx.Tx, e Event[T]) error {
	var request Q
	if b.h.call.Intent != nil {
		var err error
		if request, err = b.h.call.Intent(ctx, tx, e); err != nil {
			return err
		}
	}
	encoded, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encoding what call %q will send: %w", b.h.call.Step, err)
	}
	b.requests[e.ID] = encoded
	return Queue(ctx, tx, b.h.consumer.intents.request, e.ID, b.h.consumer.cfg.Group, b.h.call.Step, string(encoded))
}

func (b *callBatch[T, Q, R]) request(i int) []byte { return b.requests[b.events[i].ID] }

func (b *callBatch[T, Q, R]) do(ctx context.Context, i int, request []byte) (answer any, err error) {
	inGoroutine(func() {
		defer catch(&err)
		answer, err = b.doOne(ctx, b.events[i], request)
	}, func() { err = &PanicError{Value: errGoexit, Stack: debug.Stack()} })
	return answer, err
}

func (b *callBatch[T, Q, R]) doOne(ctx context.Context, e Event[T], encoded []byte) (any, error) {
	var request Q
	if err := json.Unmarshal(encoded, &request); err != nil {
		return nil, fmt.Errorf("decoding what call %q is to send into %T: %w", b.h.call.Step, request, err)
	}
	ctx, cancel := context.WithTimeout(idemkey.With(ctx, b.scope(e.ID)), b.h.call.Timeout)
	defer cancel()
	result, err := b.h.call.Do(ctx, e, request)
	if err != nil {
		return nil, err
	}
	return answered[R]{result}, nil
}

// answered keeps a result of an interface type from getting lost in an any.
type answered[R any] struct{ result R }

func (b *callBatch[T, Q, R]) results(answers map[uuid.UUID]any) batch {
	return &typedBatch[T]{
		events: b.events,
		handler: &typedHandler[T]{
			consumer: b.h.consumer, scope: b.scope,
			one: func(ctx context.Context, tx pgx.Tx, e Event[T]) error {
				return b.h.call.Result(ctx, tx, e, answers[e.ID].(answered[R]).result)
			},
		},
	}
}
