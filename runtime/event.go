package runtime

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime/internal/idemkey"
)

// An Event is one decoded record as a handler gets it.
type Event[T any] struct {
	// ID is the event's id, taken from the payload. It is what makes a repeat a
	// repeat, whatever its offset.
	ID uuid.UUID
	// Payload is the decoded value, fresh for every attempt.
	Payload T
	// Record is what the broker delivered. It must not be changed.
	Record *kgo.Record
}

// Handle registers fn for the events of a topic. fn runs inside the batch's
// transaction, once for every event that has not been processed by this group
// before, in partition order (with Config.Concurrency above one: in order of
// each key). It does its work through tx, directly or with Queue: what it writes
// there and the mark that the event is processed commit together or not at all.
// What it does by any other way happens at least once. A call that moves money
// belongs into HandleCall or, if it is quick, needs at least an IdempotencyKey.
//
// An error, a panic or the end of fn's goroutine (runtime.Goexit) rolls the batch
// back. If a record is at fault, the batch is run again in smaller parts so that only
// this record fails; the package documentation says what becomes of it. If the database
// is at fault, the whole batch is tried again, and so it is if fn returns an error
// that speaks of a lost or refused connection or of a timeout (net.OpError,
// net.Error). fn may therefore run several times for one event, and only the run that
// commits has an effect.
//
// Only the runtime commits. fn must not begin or end a transaction, but may use
// savepoints (tx.Begin); see ErrTransactionControl for what becomes of a batch whose
// handler does, on tx or on its connection (tx.Conn). To undo its work, fn returns an
// error or rolls a savepoint back.
//
// fn must have ended its goroutines when it returns, and must give up soon when ctx
// ends: the partition has been taken away, or the time is up. It must not use tx
// after it has returned. What it sets with SET LOCAL holds for the events that follow
// in the batch, too; what it sets without LOCAL, for the connection.
//
// An event that comes in two topics of the group is handled in one of them only; see
// HandleCall for what that means where one is a call.
//
// Handle must be called before Run, once for a topic; Run reports misuse.
func Handle[T any](c *Consumer, topic string, fn func(ctx context.Context, tx pgx.Tx, e Event[T]) error) {
	if fn == nil {
		c.misuse(fmt.Errorf("topic %q: nil handler", topic))
		return
	}
	c.register(topic, &typedHandler[T]{consumer: c, one: fn})
}

// HandleBatch is Handle for handlers that work on all fresh events of a batch
// at once, in partition order. events is never empty and holds at most
// Config.BatchSize events; it is valid until fn returns. After an error that may
// be a record's fault, fn is called again with fewer events, in transactions of their
// own, in the end with a single one. Its context belongs to all of its events: see
// ForEvent for idempotency keys.
func HandleBatch[T any](c *Consumer, topic string, fn func(ctx context.Context, tx pgx.Tx, events []Event[T]) error) {
	if fn == nil {
		c.misuse(fmt.Errorf("topic %q: nil handler", topic))
		return
	}
	c.register(topic, &typedHandler[T]{consumer: c, many: fn})
}

// handler hides a topic's type parameter from the consumer.
type handler interface {
	newBatch(dec Decoder, capacity int) batch
}

// batch holds the decoded events of one attempt.
type batch interface {
	// decode adds rec's event to the batch, unless it returns an error.
	decode(rec *kgo.Record) (uuid.UUID, error)
	// pad fills the batch up to a number of events with some that are never run, so
	// that those of several topics can be numbered together.
	pad(events int)
	// run calls the handler for the events at the given indexes, in their order.
	// Its error is a *recordError.
	run(ctx context.Context, tx *batchTx, indexes []int) error
}

// runHandlers runs b. A handler that ends its goroutine, as testing.T.FailNow does,
// takes its record with it and not the partition.
func runHandlers(ctx context.Context, tx *batchTx, b batch, indexes []int) (err error) {
	inGoroutine(func() { err = b.run(ctx, tx, indexes) }, func() {
		err = tx.settle(tx.session.event, &PanicError{Value: errGoexit, Stack: debug.Stack()})
	})
	return err
}

// inGoroutine runs do in a goroutine of its own and waits. If do does not return but
// ends the goroutine, it calls ended there, with the stack as do left it.
func inGoroutine(do, ended func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if !returned {
				ended()
			}
		}()
		do()
		returned = true
	}()
	<-done
}

var errGoexit = errors.New("the goroutine was ended (runtime.Goexit, testing.T.FailNow)")

type typedHandler[T any] struct {
	consumer *Consumer
	scope    func(uuid.UUID) *idemkey.Scope // where scopes outlive the handler; may be nil
	one      func(context.Context, pgx.Tx, Event[T]) error
	many     func(context.Context, pgx.Tx, []Event[T]) error
}

func (h *typedHandler[T]) newBatch(dec Decoder, capacity int) batch {
	return &typedBatch[T]{handler: h, decoder: dec, events: make([]Event[T], 0, capacity)}
}

type typedBatch[T any] struct {
	handler  *typedHandler[T]
	decoder  Decoder
	events   []Event[T]
	attempts idemkey.Attempts
}

func (b *typedBatch[T]) decode(rec *kgo.Record) (id uuid.UUID, err error) {
	defer catch(&err)
	b.events = append(b.events, Event[T]{Record: rec})
	e := &b.events[len(b.events)-1]
	e.ID, err = b.decoder.Decode(rec, &e.Payload)
	if err == nil && e.ID == uuid.Nil {
		err = ErrNoEventID
	}
	if err != nil {
		b.events = b.events[:len(b.events)-1]
		return uuid.Nil, err
	}
	return e.ID, nil
}

func (b *typedBatch[T]) pad(events int) {
	for len(b.events) < events {
		b.events = append(b.events, Event[T]{})
	}
}

func (b *typedBatch[T]) run(ctx context.Context, tx *batchTx, indexes []int) error {
	if b.handler.many != nil {
		return b.runMany(ctx, tx, indexes)
	}
	if b.handler.scope == nil {
		b.attempts = idemkey.NewAttempts(len(indexes))
	}
	for _, i := range indexes {
		if err := b.runOne(ctx, tx, i); err != nil {
			return err
		}
	}
	return nil
}

func (b *typedBatch[T]) runOne(ctx context.Context, tx *batchTx, i int) error {
	tx.session.event = i
	return tx.settle(i, b.call(ctx, tx, i))
}

func (b *typedBatch[T]) call(ctx context.Context, tx *batchTx, i int) (err error) {
	defer catch(&err)
	return b.handler.one(b.contextOf(ctx, i), tx, b.events[i])
}

func (b *typedBatch[T]) runMany(ctx context.Context, tx *batchTx, indexes []int) error {
	if len(indexes) == 0 {
		return nil
	}
	guess := -1
	if len(indexes) == 1 {
		guess = indexes[0]
	}
	tx.session.event = guess
	events := b.events
	if len(indexes) != len(events) {
		events = make([]Event[T], len(indexes))
		for n, i := range indexes {
			events[n] = b.events[i]
		}
	}
	return tx.settle(guess, b.callMany(ctx, tx, events))
}

func (b *typedBatch[T]) callMany(ctx context.Context, tx *batchTx, events []Event[T]) (err error) {
	defer catch(&err)
	ids := make([]uuid.UUID, len(events))
	for i := range events {
		ids[i] = events[i].ID
	}
	c := b.handler.consumer
	return b.handler.many(idemkey.WithBatch(ctx, idemkey.NewBatch(ids, c.cfg.Group, c.keyExpired)), tx, events)
}

// contextOf returns the context of an attempt at event i.
func (b *typedBatch[T]) contextOf(ctx context.Context, i int) context.Context {
	id := b.events[i].ID
	if b.handler.scope != nil {
		return idemkey.With(ctx, b.handler.scope(id))
	}
	c := b.handler.consumer
	return b.attempts.With(ctx, id, c.cfg.Group, c.keyExpired)
}

// settle judges what a handler returned against what became of its
// transaction, and attributes the failure to event i.
func (t *batchTx) settle(i int, returned error) error {
	s := t.session
	if !s.finishOpen() {
		return &recordError{index: i, err: errLeftOpen}
	}
	switch {
	case s.flushed != nil:
		// A queued statement failed in a flush that this call caused; it may
		// belong to an earlier event.
		return s.flushed
	case s.ended():
		return &recordError{index: i, err: errEndedByHandler}
	case returned == nil && s.aborted():
		return &recordError{index: i, err: &SwallowedError{SQL: s.failedSQL, Err: s.failedErr}}
	case returned == nil && s.refused != nil:
		return &recordError{index: i, err: s.refused}
	case returned == nil:
		return nil
	case s.aborted() && s.failedErr != nil && !errors.Is(returned, s.failedErr):
		// The handler hid the cause, or returned the 25P02 that followed it.
		return &recordError{index: i, err: fmt.Errorf("%w (after statement %q failed: %w)", s.failedErr, s.failedSQL, returned)}
	default:
		return &recordError{index: i, err: returned}
	}
}

// catch turns a panic into a *PanicError.
func catch(err *error) {
	if v := recover(); v != nil {
		*err = &PanicError{Value: v, Stack: debug.Stack()}
	}
}
