package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// maxSavepoints bounds the savepoints of one transaction. Beyond 64, PostgreSQL
// spills the list of subtransactions, and other sessions' snapshots pay for it.
const maxSavepoints = 50

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
	failed     []FailedRecord
	stop       *FailedRecord // the record after items, which stops the partition
}

// beginSQL opens the batch transaction with its timeouts in one round trip. An
// asynchronous commit is made synchronous: it could be lost after its offset has
// been committed. Stronger settings are left alone.
func beginSQL(cfg Config) string {
	return fmt.Sprintf(`begin isolation level read committed;
set local lock_timeout = %d; set local statement_timeout = %d; set local idle_in_transaction_session_timeout = %d;
select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'`,
		cfg.LockTimeout.Milliseconds(), cfg.StatementTimeout.Milliseconds(), cfg.IdleTimeout.Milliseconds())
}

// A txFailure is a transaction that was not, or may not have been, committed.
type txFailure struct {
	verdict verdict
	err     error
}

func (f *txFailure) Error() string { return f.err.Error() }
func (f *txFailure) Unwrap() error { return f.err }

// transact runs work in one transaction and commits it. Its error is a
// *txFailure. After an error the transaction is rolled back, or its outcome is
// unknown: the answer to the commit was lost. Either way doing it again is safe,
// since the marks it made, if it made them, show it to be done.
func (a *assignment) transact(work func(context.Context, *batchTx) error) error {
	c := a.consumer
	conn, err := c.pool.Acquire(a.ctx)
	if err != nil {
		return &txFailure{retry, fmt.Errorf("acquiring a connection: %w", err)}
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(a.ctx, c.cfg.BatchTimeout)
	defer cancel()
	defer cutOff(ctx, conn.Conn())()
	err = a.transactOn(ctx, conn.Conn(), work)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = &databaseError{doing: fmt.Sprintf("batch not done within %s", c.cfg.BatchTimeout), err: errors.Join(context.Cause(ctx), err)}
	}
	return &txFailure{judge(err, conn.Conn().IsClosed()), err}
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
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
			defer cancel()
			_ = conn.Close(closing)
		}
	}
}

func (a *assignment) transactOn(ctx context.Context, conn *pgx.Conn, work func(context.Context, *batchTx) error) error {
	c := a.consumer
	raw, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: c.beginSQL})
	if err != nil {
		return &databaseError{doing: "beginning a transaction", err: err}
	}
	committed := false
	defer func() {
		if !committed {
			rollback(ctx, raw)
		}
	}()
	tx := &batchTx{raw: raw, session: &txSession{conn: conn, event: -1}}
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
		if errors.Is(err, pgx.ErrTxCommitRollback) {
			return &recordError{index: -1, err: &SwallowedError{SQL: tx.session.failedSQL, Err: tx.session.failedErr}}
		}
		if _, ok := sqlState(err); ok { // a deferred constraint or trigger, or the server's going down
			return &recordError{index: -1, err: fmt.Errorf("committing: %w", err)}
		}
		return &databaseError{doing: "committing", err: err}
	}
	committed = true
	return c.dbStep(seam.AfterCommit)
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

// attempt processes items in one transaction. Its error is a *txFailure.
func (a *assignment) attempt(items []*item) (*outcome, error) {
	c := a.consumer
	p := a.plan(items)
	if err := c.dbStep(seam.AfterDecode); err != nil {
		return nil, &txFailure{retry, err}
	}
	out := p.outcome()
	if !p.needsDatabase() {
		return out, nil
	}
	err := a.transact(func(ctx context.Context, tx *batchTx) error {
		fresh, err := a.markAll(ctx, tx.raw, p, p.order, p.refused)
		if err != nil {
			return err
		}
		out.count(len(fresh), len(p.order))
		if len(fresh) == 0 {
			return nil
		}
		if err := p.batch.run(ctx, tx, fresh); err != nil {
			return err
		}
		if err := c.dbStep(seam.AfterHandlers); err != nil {
			return err
		}
		return tx.session.flush(ctx)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// markAll writes what comes before the handlers: the marks and the quarantine.
func (a *assignment) markAll(ctx context.Context, tx pgx.Tx, p *plan, events []int, refused []Quarantined) ([]int, error) {
	c := a.consumer
	if len(refused) > 0 {
		if err := c.cfg.Quarantine.Put(ctx, tx, refused); err != nil {
			return nil, &databaseError{doing: "writing the quarantine", err: err}
		}
	}
	fresh, err := p.mark(ctx, tx, c.cfg.Group, events)
	if err != nil {
		return nil, err
	}
	return fresh, c.dbStep(seam.AfterMark)
}

// outcome returns what the plan alone settles.
func (p *plan) outcome() *outcome {
	return &outcome{
		items: p.items, skipped: p.skipped, duplicates: p.repeats, refused: p.refused,
		failed: p.failed, stop: p.stop,
	}
}

// count adds a transaction's marks: fresh of all its events were new.
func (o *outcome) count(fresh, all int) {
	o.processed += fresh
	o.duplicates += all - fresh
}

// isolate processes items after a failure that is a record's fault: in
// transactions of at most maxSavepoints events, each event in a savepoint, so
// that the guilty ones fail alone. Without a dead letter it ends before the
// first guilty one.
func (a *assignment) isolate(items []*item) (*outcome, error) {
	p := a.plan(items)
	out := p.outcome()
	refused := p.refused
	for first := 0; first < len(p.order) || len(refused) > 0; first += maxSavepoints {
		events := p.order[min(first, len(p.order)):min(first+maxSavepoints, len(p.order))]
		var chunk chunkResult
		err := a.transact(func(ctx context.Context, tx *batchTx) (err error) {
			chunk, err = a.isolateChunk(ctx, tx, p, events, refused)
			return err
		})
		if err != nil {
			return nil, err
		}
		refused = nil
		out.count(chunk.processed, chunk.processed+chunk.duplicates)
		if chunk.stop >= 0 {
			out.stop = &chunk.failed[0]
			out.items = p.items[:p.itemOf[chunk.stop]]
			return out, nil
		}
		out.failed = append(out.failed, chunk.failed...)
	}
	return out, nil
}

type chunkResult struct {
	processed  int
	duplicates int
	failed     []FailedRecord
	stop       int // the event that stops the partition, or -1
}

func (a *assignment) isolateChunk(ctx context.Context, tx *batchTx, p *plan, events []int, refused []Quarantined) (chunkResult, error) {
	c := a.consumer
	result := chunkResult{stop: -1}
	fresh, err := a.markAll(ctx, tx.raw, p, events, refused)
	if err != nil {
		return result, err
	}
	result.duplicates = len(events) - len(fresh)
	var undone []int
	for n, event := range fresh {
		err := runInSavepoint(ctx, tx, p, event)
		if err == nil {
			result.processed++
			continue
		}
		if judge(err, tx.session.conn.IsClosed()) != guilty {
			return result, err
		}
		rec := p.items[p.itemOf[event]].rec
		result.failed = append(result.failed, FailedRecord{Record: rec, Group: c.cfg.Group, EventID: p.ids[event], Err: err})
		undone = append(undone, event)
		if c.cfg.DeadLetter == nil {
			result.stop = event
			undone = fresh[n:]
			break
		}
	}
	if err := c.dbStep(seam.AfterHandlers); err != nil {
		return result, err
	}
	return result, p.unmark(ctx, tx.raw, c.cfg.Group, undone)
}

// runInSavepoint handles one event so that its failure undoes nothing else.
// Deferred constraints are checked before the savepoint is released: at the
// commit nobody could tell whose they are.
func runInSavepoint(ctx context.Context, tx *batchTx, p *plan, event int) error {
	savepoint, err := tx.raw.Begin(ctx)
	if err != nil {
		return &databaseError{doing: "setting a savepoint", err: err}
	}
	s := tx.session
	err = p.batch.run(ctx, &batchTx{raw: savepoint, session: s}, []int{event})
	if err == nil {
		err = s.flush(ctx)
	}
	if err == nil {
		if _, immediate := savepoint.Exec(ctx, "set constraints all immediate"); immediate != nil {
			err = &recordError{index: event, err: fmt.Errorf("checking deferred constraints: %w", immediate)}
		}
	}
	if err != nil {
		s.queue = s.queue[:0]
		if s.ended() || s.conn.IsClosed() {
			return err
		}
		if back := savepoint.Rollback(ctx); back != nil {
			return &databaseError{doing: "rolling back to a savepoint", err: errors.Join(back, err)}
		}
		s.forget()
		return err
	}
	if _, err := savepoint.Exec(ctx, "set constraints all deferred"); err != nil {
		return &databaseError{doing: "deferring constraints", err: err}
	}
	if err := savepoint.Commit(ctx); err != nil {
		return &databaseError{doing: "releasing a savepoint", err: err}
	}
	return nil
}
