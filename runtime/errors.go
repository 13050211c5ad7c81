package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// ErrNoEventID says that a payload holds no event id, or none that is a
	// UUID. Such a record cannot be deduplicated and is treated as failed.
	ErrNoEventID = errors.New("payload holds no event id")

	// ErrSkip, returned or wrapped by a Decoder, says that a record is none of
	// the handler's business, such as another type of event in a shared topic
	// or a tombstone. The record counts as completed and nothing is written.
	ErrSkip = errors.New("record skipped by its decoder")

	// ErrPermanent, wrapped by a handler's error, says that the record is at fault and
	// will be whenever it is tried: it goes to the dead letter at once. It outweighs
	// what the error else speaks of, such as a refused connection of an HTTP client,
	// but not the end of the transaction: a lost connection to PostgreSQL, or a
	// SQLSTATE that asks for another attempt.
	ErrPermanent = errors.New("permanent failure")

	// ErrTransient, wrapped by a handler's error, says that a failure that would count
	// as permanent, such as a foreign key whose row another topic brings, may pass: the
	// record is tried again up to Config.MaxAttempts times.
	ErrTransient = errors.New("transient failure")

	// ErrTransactionControl is what a handler gets that tries to end or begin
	// the batch's transaction itself. Marks and effects stand or fall together,
	// so only the runtime commits. Savepoints (pgx.Tx.Begin) are allowed. It is
	// the code's mistake and no record's: a batch whose handler got it, even if
	// it then returned nil, or ended the transaction by another way, is rolled
	// back and tried again with an alarm, and nothing of it is dead-lettered.
	ErrTransactionControl = errors.New("the runtime owns the transaction")

	// ErrDrainTimeout says that Run returned while batches were cut off because
	// they did not finish within Config.ShutdownTimeout. They were rolled back
	// or, if they were committing, will be found as duplicates; nothing is lost.
	ErrDrainTimeout = errors.New("batches did not finish before the shutdown timeout")
)

// errEndedByHandler says that a handler ended the transaction by a way around
// the runtime's pgx.Tx.
var errEndedByHandler = fmt.Errorf("%w, but a handler ended it on the bare connection", ErrTransactionControl)

// errLeftOpen says that a handler returned while a result that the runtime has not
// handed out, and cannot close, was still unread.
var errLeftOpen = errors.New("handler returned with a result of the bare connection unread")

// errResultOpen is what a handler gets for a statement that it runs while it still
// reads the result of another.
var errResultOpen = errors.New("the result of an earlier statement has not been closed")

// A SwallowedError reports a handler that got an error from a statement and
// returned nil. PostgreSQL had aborted the transaction by then, so nothing of
// it could be kept (a COMMIT would have answered ROLLBACK).
type SwallowedError struct {
	// SQL is the statement whose error the handler ignored, empty if the
	// runtime did not see it (pgx.Conn used directly, SendBatch).
	SQL string
	// Err is the statement's error, nil if the runtime did not see it.
	Err error
}

func (e *SwallowedError) Error() string {
	switch {
	case e.SQL != "" && e.Err != nil:
		return fmt.Sprintf("handler returned nil although its statement %q had failed: %v", e.SQL, e.Err)
	default:
		return "handler returned nil although one of its statements had failed"
	}
}

func (e *SwallowedError) Unwrap() error { return e.Err }

// A PanicError is a handler's or decoder's panic, caught so that one record
// does not take down every partition of the process. It counts as the record's
// failure.
type PanicError struct {
	Value any    // what was passed to panic
	Stack []byte // the panicking goroutine's stack
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// databaseError is an error of a statement the runtime itself issued.
type databaseError struct {
	doing string
	err   error
}

func (e *databaseError) Error() string { return e.doing + ": " + e.err.Error() }
func (e *databaseError) Unwrap() error { return e.err }

// poolError says that no connection was to be had.
type poolError struct {
	waited time.Duration
	most   int32
}

func (e *poolError) Error() string {
	return fmt.Sprintf("acquiring a connection: all %d of the pool were in use for %s", e.most, e.waited)
}

// recordError is an error that belongs to one event of a batch, or to the
// batch as a whole when index is negative.
type recordError struct {
	index int // of the event in the attempt's batch
	err   error
}

func (e *recordError) Error() string { return e.err.Error() }
func (e *recordError) Unwrap() error { return e.err }

// A verdict says what to do about a failed transaction.
type verdict int

const (
	// retry: nothing says that a record is at fault; the same transaction may
	// succeed later.
	retry verdict = iota
	// environment: every record would fail alike until someone repairs the
	// database, a privilege or the code. Retried too, but with an alarm at once,
	// and never dead-lettered: a missing migration must not empty a topic.
	environment
	// guilty: a record is at fault and will be at fault again.
	guilty
)

// judge classifies the error of a failed batch transaction. connLost says that
// the connection was found closed afterwards, which outweighs whatever a
// handler made of it. SQLSTATE classes are those of PostgreSQL's appendix
// "PostgreSQL Error Codes".
func judge(err error, connLost bool) verdict {
	if errors.Is(err, ErrTransactionControl) || errors.Is(err, errLeftOpen) || errors.Is(err, ErrNoEvent) || errors.Is(err, ErrSharedKey) {
		return environment // a mistake of the code
	}
	own := new(databaseError)
	isOwn := errors.As(err, &own)
	if code, ok := sqlState(err); ok {
		v := judgeSQLState(code)
		switch {
		case v == guilty && isOwn:
			return environment // no record can be at fault in the runtime's own statements
		case code == abortedState && !isOwn:
			return guilty // its handler went on after an error that the runtime did not see
		}
		return v
	}
	if connLost || isOwn {
		return retry
	}
	if isConnectionError(err) && !errors.Is(err, ErrPermanent) {
		return retry
	}
	return guilty
}

// mayPass tells whether what a record alone has failed with may not come again. Data
// errors will: PostgreSQL judges the same values the same way. So will a handler that
// swallows its statement's error. Of all else only the handler knows.
func mayPass(err error) bool {
	var swallowed *SwallowedError
	_, bySQL := sqlState(err)
	switch {
	case errors.Is(err, ErrPermanent):
		return false
	case errors.Is(err, ErrTransient):
		return true
	default:
		return !bySQL && !errors.As(err, &swallowed)
	}
}

// abortedState is in_failed_sql_transaction: what every statement gets after one
// that failed.
const abortedState = "25P02"

// readOnly is read_only_sql_transaction: connected to a standby during failover.
const readOnly = "25006"

func judgeSQLState(code string) verdict {
	switch code {
	case "55P03", // lock_not_available: another owner is in flight, never "duplicate"
		"55006", // object_in_use
		"25P03", // idle_in_transaction_session_timeout
		"25P04", // transaction_timeout
		readOnly,
		"HV00N": // fdw_unable_to_establish_connection
		return retry
	}
	switch code[:2] {
	case "08", // connection exception
		"40", // serialization failure, deadlock
		"53", // insufficient resources
		"57", // operator intervention, query_canceled among it
		"58", // system error
		"XX": // internal error
		return retry
	case "0A", // feature not supported
		"0B", // invalid transaction initiation
		"2D", // invalid transaction termination
		"25", // invalid transaction state
		"26", // invalid statement name: a pooler that mixes up sessions
		"28", // invalid authorization
		"3D", // invalid catalog
		"3F", // invalid schema
		"HV", // foreign data wrapper
		"42": // syntax error or access rule violation, undefined objects
		return environment
	}
	return guilty
}

// isTimeout tells whether the attempt ran out of time, which a smaller batch
// may cure.
func isTimeout(err error) bool {
	code, ok := sqlState(err)
	return code == "57014" || code == "25P04" || (!ok && errors.Is(err, context.DeadlineExceeded))
}

func sqlState(err error) (string, bool) {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		if code := state.SQLState(); len(code) == 5 {
			return code, true
		}
	}
	return "", false
}

// isConnectionError tells whether a handler's error speaks of a connection, to
// PostgreSQL or to anything else it talks to, that may work again later. Not every
// net.Error does: a malformed address or URL and a host that does not exist are more
// likely what the payload holds, and io.EOF, with a living database connection, is
// what a parser says of a truncated one, unless a request got it for an answer.
func isConnectionError(err error) bool {
	var netErr net.Error
	var connectErr *pgconn.ConnectError
	switch {
	case errors.As(err, &connectErr), pgconn.SafeToRetry(err), errors.Is(err, net.ErrClosed),
		errors.As(err, &netErr) && netErr.Timeout():
		return true
	}
	var lookup *net.DNSError
	if errors.As(err, &lookup) {
		return !lookup.IsNotFound
	}
	var address *net.AddrError
	var parse *net.ParseError
	if errors.As(err, &address) || errors.As(err, &parse) {
		return false
	}
	var op *net.OpError
	var request *url.Error
	return errors.As(err, &op) ||
		errors.As(err, &request) && (errors.Is(request.Err, io.EOF) || errors.Is(request.Err, io.ErrUnexpectedEOF)) ||
		slices.ContainsFunc(passingErrnos, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

var passingErrnos = []syscall.Errno{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT,
	syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.EMFILE, syscall.ENFILE,
}

// isMissingPartition tells whether err is PostgreSQL's refusal to route a row of
// processed_event because no partition covers it. It shares SQLSTATE 23514 with
// CHECK constraints; those carry a constraint name.
func isMissingPartition(err error) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == "23514" &&
		pgErr.ConstraintName == "" && pgErr.Routine == "ExecFindPartition"
}
