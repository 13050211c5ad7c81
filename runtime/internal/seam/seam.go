// Package seam names the places between two steps of the runtime's order of
// operations, so that tests can stop a consumer exactly there: kill the
// process, cut a connection, or make the consumer drop everything it holds as
// if it had crashed.
//
// A hook travels in the context given to Consumer.Run. Production code sets
// none, and the package is internal so that it cannot. It knows nothing of
// Kafka or PostgreSQL and must stay free of imports beyond the standard library.
package seam

import (
	"context"
	"errors"
	"fmt"
)

// A Step is a place between two steps of the order of operations, named after
// what has just happened or is just about to.
type Step int

// The steps, in the order in which a record passes them.
const (
	// AfterPoll: records have been polled and handed to their partitions.
	AfterPoll Step = iota
	// AfterDecode: a batch has been decoded, its ids checked; no SQL yet.
	AfterDecode
	// AfterBegin: the transaction is open, nothing has been written.
	AfterBegin
	// AfterMark: the batch's ids are in processed_event, uncommitted.
	AfterMark
	// AfterHandlers: the handlers have run, queued statements may be unsent.
	AfterHandlers
	// BeforeCommit: every statement of the batch has been answered.
	BeforeCommit
	// AfterCommit: PostgreSQL has confirmed the commit; the watermark has not
	// moved.
	AfterCommit
	// AfterWatermark: the records count as completed; their offsets are not
	// committed.
	AfterWatermark
	// BeforeOffsetCommit: an offset commit is about to be sent.
	BeforeOffsetCommit
	// AfterOffsetCommit: the broker has answered an offset commit.
	AfterOffsetCommit

	// The steps of a call in two transactions, which come between AfterCommit of the
	// first and AfterBegin of the second.

	// AfterIntent: the intents are committed, no call has been made.
	AfterIntent
	// AfterCall: the calls have been made, no result has been written.
	AfterCall

	// The next are on the way of a record that failed.

	// BeforeDeadLetter: what else the run holds is committed; a failed record is
	// about to be written to its dead letter.
	BeforeDeadLetter
	// AfterDeadLetter: the dead letter holds the record; the watermark has not moved.
	AfterDeadLetter

	// The rest are a relay's.

	// AfterRelayRead: unsent messages have been read; none is published.
	AfterRelayRead
	// AfterRelaySend: the broker has acknowledged them; none is marked as sent.
	AfterRelaySend
	// AfterRelayMark: they are marked as sent.
	AfterRelayMark
)

// Steps lists, in order, the steps that every record passes.
func Steps() []Step {
	return []Step{
		AfterPoll, AfterDecode, AfterBegin, AfterMark, AfterHandlers,
		BeforeCommit, AfterCommit, AfterWatermark, BeforeOffsetCommit, AfterOffsetCommit,
	}
}

// CallSteps lists the steps that only a call in two transactions passes.
func CallSteps() []Step { return []Step{AfterIntent, AfterCall} }

// FailureSteps lists the steps that a record passes only when it fails.
func FailureSteps() []Step { return []Step{BeforeDeadLetter, AfterDeadLetter} }

// RelaySteps lists the steps that a message of the outbox passes, in order.
func RelaySteps() []Step { return []Step{AfterRelayRead, AfterRelaySend, AfterRelayMark} }

// String returns the step's name as in this package.
func (s Step) String() string {
	names := [...]string{
		"AfterPoll", "AfterDecode", "AfterBegin", "AfterMark", "AfterHandlers",
		"BeforeCommit", "AfterCommit", "AfterWatermark", "BeforeOffsetCommit", "AfterOffsetCommit",
		"AfterIntent", "AfterCall",
		"BeforeDeadLetter", "AfterDeadLetter", "AfterRelayRead", "AfterRelaySend", "AfterRelayMark",
	}
	if s < 0 || int(s) >= len(names) {
		return fmt.Sprintf("Step(%d)", int(s))
	}
	return names[s]
}

// ErrCrash makes the consumer behave as if its process had died at the step:
// it writes nothing more to PostgreSQL, commits no offset, and Run returns an
// error that wraps what the hook returned. A hook returns it, or an error that
// wraps it.
var ErrCrash = errors.New("crash")

// A Hook is called at each step, possibly from several goroutines at once.
// Returning an error that is ErrCrash crashes the consumer; any other error
// fails the step as a lost database connection would. A hook may block.
type Hook func(Step) error

type key struct{}

// With returns a context that carries hook to Consumer.Run.
func With(ctx context.Context, hook Hook) context.Context {
	return context.WithValue(ctx, key{}, hook)
}

// From returns the hook that ctx carries, or nil.
func From(ctx context.Context) Hook {
	hook, _ := ctx.Value(key{}).(Hook)
	return hook
}
