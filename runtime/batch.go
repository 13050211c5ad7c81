package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// rollbackTimeout bounds a rollback; a connection that cannot do it in this time
// is closed, which rolls back too.
const rollbackTimeout = 5 * time.Second

// An outcome is what became of a run of records.
type outcome struct {
	items      []*item // completed, once failed is dead-lettered
	processed  int
	duplicates int
	skipped    int
	refused    []Quarantined
	skips      []skip // for the audit, if it is on
	failed     []FailedRecord
	stop       *FailedRecord // the record after items, which stops the partition
}

// beginSQL opens the batch transaction with its timeouts and its guard in one
// round trip.
//
// The guard is a cursor that PostgreSQL runs when the transaction commits, since
// it is to be held beyond that, and that fails then: its query reads a setting that
// does not exist. So nobody commits this transaction but by commitSQL, and commitSQL
// commits no other. It writes nothing and needs no transaction id.
func beginSQL(cfg Config) string {
	return fmt.Sprintf(`begin isolation level read committed;
set local lock_timeout = %d; set local statement_timeout = %d; set local idle_in_transaction_session_timeout = %d;
declare idemlint_guard no scroll cursor with hold for
values (pg_catalog.current_setting('idemlint: the runtime owns the transaction; a handler must not commit it'))`,
		cfg.LockTimeout.Milliseconds(), cfg.StatementTimeout.Milliseconds(), cfg.IdleTimeout.Milliseconds())
}

// commitSQL takes the guard away and commits, in one round trip. Without the guard,
// in a transaction that a handler began in the place of the batch's, it fails with
// noGuard and commits nothing. An asynchronous commit is made synchronous, whoever
// asked for it: it could be lost after its offset has been committed. Stronger
// settings are left alone.
const (
	commitSQL = `close idemlint_guard;
select pg_catalog.set_config('synchronous_commit', 'on', true) where pg_catalog.current_setting('synchronous_commit') = 'off';
commit`
	noGuard = "34000" // invalid_cursor_name
)

// A txFailure is a transaction that was not, or may not have been, committed.
type txFailure struct {
	verdict verdict
	err     error
	item    *item     // whose handler failed, nil if that is not known
	eventID uuid.UUID // of item
}

func (f *txFailure) Error() string { return f.err.Error() }
func (f *txFailure) Unwrap() error { return f.err }

// transact runs work in one transaction and commits it. Its error is a
// *txFailure. After an error the transaction is rolled back, or its outcome is
// unknown: the answer to the commit was lost. Either way doing it again is safe,
// since the marks it made, if it made them, show it to be done.
func (a *assignment) transact(ctx context.Context, work func(context.Context, *batchTx) error) error {
	c := a.consumer
	conn, err := c.acquire(ctx)
	if err != nil {
		return &txFailure{verdict: retry, err: err}
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(ctx, c.cfg.BatchTimeout)
	defer cancel()
	defer cutOff(ctx, conn.Conn())()
	err = a.transactOn(ctx, conn.Conn(), work)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = &databaseError{doing: fmt.Sprintf("batch not done within %s", c.cfg.BatchTimeout), err: errors.Join(context.Cause(ctx), err)}
	}
	failure := &txFailure{verdict: judge(err, conn.Conn().IsClosed()), err: err}
	if code, _ := sqlState(err); failure.verdict == environment || code == readOnly {
		// It may be this connection alone: it leads to a server that is a standby by
		// now, or an earlier handler has left it with another role or search_path.
		closeConn(ctx, conn.Conn())
	}
	return failure
}

// acquire takes a connection from the pool and waits as long as a batch may take.
func (c *Consumer) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.BatchTimeout)
	defer cancel()
	conn, err := c.pool.Acquire(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, &poolError{waited: c.cfg.BatchTimeout, most: c.pool.Config().MaxConns}
	}
	if err != nil {
		return nil, fmt.Errorf("acquiring a connection: %w", err)
	}
	return conn, nil
}

func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// cutOff closes the connection's socket when ctx ends. pgx does so too, but only
// while a statement runs: a handler that is deaf to its context would keep its
// locks, and with them the partition's next owner, waiting. The returned function
// ends the watch, and closes a connection that was cut off so that the pool drops it.
func cutOff(ctx context.Context, conn *pgx.Conn) func() {
	socket := conn.PgConn().Conn()
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	return func() {
		if !stop() {
			closeConn(ctx, conn)
		}
	}
}

func (a *assignment) transactOn(ctx context.Context, conn *pgx.Conn, work func(context.Context, *batchTx) error) error {
	c := a.consumer
	raw, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: c.beginSQL, CommitQuery: commitSQL})
	if err != nil {
		return &databaseError{doing: "beginning a transaction", err: err}
	}
	committed := false
	defer func() {
		if !committed {
			rollback(ctx, raw)
		}
	}()
	tx := &batchTx{raw: raw, session: &txSession{conn: conn, event: -1, bare: -1, outboxSQL: c.outboxSQL}}
	if err := c.dbStep(seam.AfterBegin); err != nil {
		return err
	}
	if err := work(ctx, tx); err != nil {
		return err
	}
	if err := c.dbStep(seam.BeforeCommit); err != nil {
		return err
	}
	if err := raw.Commit(ctx); err != nil {
		return commitFailure(err, tx.session)
	}
	committed = true
	c.lastCommit.Store(int64(c.clock()))
	return c.dbStep(seam.AfterCommit)
}

// commitFailure attributes what a commit failed with.
func commitFailure(err error, s *txSession) error {
	code, answered := sqlState(err)
	switch {
	case code == noGuard:
		return &recordError{index: s.bare, err: errEndedByHandler}
	case code == abortedState:
		return &recordError{index: -1, err: &SwallowedError{SQL: s.failedSQL, Err: s.failedErr}}
	case answered: // a deferred constraint or trigger, or the server's going down
		return &recordError{index: -1, err: fmt.Errorf("committing, or checking a deferred constraint: %w", err)}
	default:
		return &databaseError{doing: "committing", err: err}
	}
}

func rollback(ctx context.Context, tx pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = tx.Rollback(ctx) // a connection that fails to is closed, which rolls back
}

// dbStep is step for places inside a transaction: a hook's error fails it.
func (c *Consumer) dbStep(s seam.Step) error {
	if err := c.step(s); err != nil {
		return &databaseError{doing: "interrupted", err: err}
	}
	return nil
}

// attempt processes items in one transaction, under a span of its own. Its error is a
// *txFailure.
func (l *lane) attempt(items []*item) (*outcome, error) {
	ctx, observed := l.assignment.observe(items)
	out, err := l.try(ctx, items)
	observed(out, err)
	return out, err
}

func (l *lane) try(ctx context.Context, items []*item) (*outcome, error) {
	a := l.assignment
	c := a.consumer
	defer a.watch(items[0].rec, 2*c.cfg.BatchTimeout)()
	p := l.plan(items)
	if err := c.dbStep(seam.AfterDecode); err != nil {
		return nil, &txFailure{verdict: retry, err: err}
	}
	out := p.outcome()
	if !p.needsDatabase() {
		return out, nil
	}
	emitted := false
	err := a.transact(ctx, func(ctx context.Context, tx *batchTx) error {
		tx.session.use(&l.scratch)
		defer tx.session.giveBack(&l.scratch)
		fresh, err := a.markAll(ctx, tx.raw, p)
		if err != nil {
			return err
		}
		out.count(len(fresh), len(p.order))
		if p.audit {
			if out.skips, err = p.skips(ctx, tx.raw, c.processedAtSQL, c.cfg.Group, fresh); err != nil {
				return err
			}
		}
		if len(fresh) == 0 {
			return nil
		}
		if err := runHandlers(ctx, tx, p.batch, fresh); err != nil {
			return err
		}
		if err := c.dbStep(seam.AfterHandlers); err != nil {
			return err
		}
		emitted = tx.session.emitted
		return tx.session.flush(ctx)
	})
	if err != nil {
		return nil, p.attribute(err)
	}
	a.metrics.committed(ctx, out.items, c.clock())
	if emitted {
		c.wakeRelay()
	}
	return out, nil
}

// markAll writes what comes before the handlers: the marks and the quarantine.
func (a *assignment) markAll(ctx context.Context, tx pgx.Tx, p *plan) ([]int, error) {
	c := a.consumer
	if len(p.refused) > 0 {
		if err := putRefused(ctx, c.quarantine, tx, p.refused); err != nil {
			return nil, &databaseError{doing: "writing the quarantine", err: err}
		}
	}
	fresh, err := p.mark(ctx, tx, c.markSQL, c.cfg.Group)
	if err != nil {
		return nil, err
	}
	return fresh, c.dbStep(seam.AfterMark)
}

func putRefused(ctx context.Context, q Quarantine, tx pgx.Tx, refused []Quarantined) (err error) {
	defer catch(&err)
	return q.Put(ctx, tx, refused)
}

// outcome returns what the plan alone settles.
func (p *plan) outcome() *outcome {
	return &outcome{
		items: p.items, skipped: p.skipped, duplicates: len(p.repeated), refused: p.refused,
		failed: p.failed, stop: p.stop,
	}
}

// count adds a transaction's marks: fresh of all its events were new.
func (o *outcome) count(fresh, all int) {
	o.processed += fresh
	o.duplicates += all - fresh
}

// add takes in what became of the records that follow.
func (o *outcome) add(next *outcome) {
	o.items = append(o.items, next.items...)
	o.processed += next.processed
	o.duplicates += next.duplicates
	o.skipped += next.skipped
	o.refused = append(o.refused, next.refused...)
	o.skips = append(o.skips, next.skips...)
	o.failed = append(o.failed, next.failed...)
	o.stop = next.stop
}
