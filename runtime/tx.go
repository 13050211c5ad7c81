package runtime

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// maxQueued bounds the statements held back before they are sent, so that a
// batch of events with many statements each does not hold all of them and
// their arguments in memory.
const maxQueued = 4096

// Queue adds a statement to the pipeline of the handler's transaction and
// returns at once. The runtime sends all statements queued by a batch's events
// in one round trip, in the order in which they were queued, before anything
// else that is run on tx and before the commit. A statement's failure is the
// failure of the event that queued it, so there is nothing to check but the
// returned error, which is a misuse. Use Queue when the handler does not need
// the statement's result.
//
// With a tx that is not the runtime's own, as in a test of the handler alone,
// the statement is executed at once.
func Queue(ctx context.Context, tx pgx.Tx, sql string, args ...any) error {
	queuing, ok := tx.(*batchTx)
	if !ok {
		if _, err := tx.Exec(ctx, sql, args...); err != nil {
			return fmt.Errorf("executing a statement that was to be queued: %w", err)
		}
		return nil
	}
	s := queuing.session
	if s.over {
		return fmt.Errorf("queuing a statement on the transaction of a handler that has returned: %w", pgx.ErrTxClosed)
	}
	if err := s.check(sql); err != nil {
		return err
	}
	if len(s.queue) >= maxQueued {
		if err := s.flush(ctx); err != nil {
			return err
		}
	}
	s.enqueue(sql, args)
	return nil
}

// txSession is what all handles on one batch transaction share: the pipeline,
// the event that is being handled, and the first statement that failed.
type txSession struct {
	conn  *pgx.Conn
	queue []queuedStatement
	args  []any         // of the statements in queue
	ids   []pgtype.UUID // among args, the last chunk of them
	event int           // index of the event being handled, negative for a whole batch
	bare  int           // index of the last event whose handler asked for the connection, or negative

	over bool // nothing that is queued will be sent any more

	outboxSQL string // inserts a message
	emitted   bool   // a handler has left one

	// harmless is the last statement that was found not to control the
	// transaction; a handler queues the same one for every event.
	harmless string

	// open is the last result that was handed out; only that one can be unread.
	open interface{ finish() }

	failedSQL string
	failedErr error
	// refused is what the handler has got for trying to end the transaction.
	refused error
	// flushed is the queue's failure, already attributed to its event.
	flushed *recordError
}

// refuse is what a handler gets for transaction control. Its batch fails even if it
// drops the error: it would find committed what it meant to roll back.
func (s *txSession) refuse(what string) error {
	s.refused = fmt.Errorf("%s in a handler: %w", what, ErrTransactionControl)
	return s.refused
}

// check refuses SQL that controls the transaction.
func (s *txSession) check(sql string) error {
	if sql == s.harmless {
		return nil
	}
	if controlsTransaction(sql) {
		return s.refuse(strconv.Quote(sql))
	}
	s.harmless = sql
	return nil
}

// note remembers the first failed statement. What follows it in the same
// transaction is 25P02 or, in a pipeline, a copy of the first error.
func (s *txSession) note(sql string, err error) {
	if err == nil || s.failedErr != nil {
		return
	}
	if code, ok := sqlState(err); ok && code != abortedState {
		s.failedSQL, s.failedErr = sql, err
	}
}

// finishOpen reads to the end the result that a handler has left open, which would
// fail whatever comes next. It is false if there is one that it does not know.
func (s *txSession) finishOpen() bool {
	if !s.conn.PgConn().IsBusy() {
		return true
	}
	if s.open != nil {
		s.open.finish()
		s.open = nil
	}
	return !s.conn.PgConn().IsBusy()
}

// forget drops what note remembered, once a handler's savepoint has undone it.
func (s *txSession) forget() { s.failedSQL, s.failedErr, s.flushed = "", nil, nil }

// aborted tells whether PostgreSQL has given up the transaction.
func (s *txSession) aborted() bool { return s.conn.PgConn().TxStatus() == 'E' }

// ended tells whether there is no transaction any more on a living connection.
func (s *txSession) ended() bool {
	return !s.conn.IsClosed() && s.conn.PgConn().TxStatus() == 'I'
}

// flush sends the queued statements in one round trip and empties the queue.
// Its error is a *recordError of the event whose statement failed first. Nothing
// may be sent, queued or not, once there is no transaction that could undo it.
func (s *txSession) flush(ctx context.Context) error {
	if s.ended() {
		return errEndedByHandler
	}
	if s.conn.PgConn().IsBusy() {
		return errResultOpen // pgx would answer likewise, but lose hold of the open one
	}
	if len(s.queue) == 0 {
		return nil
	}
	defer s.drop()
	batch := pgx.Batch{QueuedQueries: make([]*pgx.QueuedQuery, len(s.queue))}
	for i := range s.queue {
		q := &s.queue[i]
		q.query.Arguments = s.args[q.from:q.to:q.to]
		batch.QueuedQueries[i] = &q.query
	}
	results := s.conn.SendBatch(ctx, &batch)
	for i := range s.queue {
		if _, err := results.Exec(); err != nil {
			q := &s.queue[i]
			_ = results.Close() // repeats the first error, the only evidence
			s.note(q.query.SQL, err)
			s.flushed = &recordError{index: q.event, err: fmt.Errorf("executing queued %q: %w", q.query.SQL, err)}
			return s.flushed
		}
	}
	if err := results.Close(); err != nil {
		return &databaseError{doing: "closing the pipeline", err: err}
	}
	return nil
}

// batchTx is the pgx.Tx that handlers get: it keeps queued and direct
// statements in order, remembers the first failure, and does not let a handler
// end the transaction.
type batchTx struct {
	raw     pgx.Tx
	session *txSession
	nested  bool
}

var _ pgx.Tx = (*batchTx)(nil)

// Begin opens a savepoint.
func (t *batchTx) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := t.session.flush(ctx); err != nil {
		return nil, err
	}
	raw, err := t.raw.Begin(ctx)
	if err != nil {
		t.session.note("savepoint", err)
		return nil, err
	}
	return &batchTx{raw: raw, session: t.session, nested: true}, nil
}

// Commit releases a savepoint; on the batch's own transaction it is refused.
func (t *batchTx) Commit(ctx context.Context) error {
	if !t.nested {
		return t.session.refuse("Commit")
	}
	if err := t.session.flush(ctx); err != nil {
		return err
	}
	return t.raw.Commit(ctx)
}

// Rollback undoes a savepoint; on the batch's own transaction it is refused.
func (t *batchTx) Rollback(ctx context.Context) error {
	if !t.nested {
		return t.session.refuse("Rollback")
	}
	if t.session.ended() {
		return errEndedByHandler
	}
	if t.raw.Conn().IsClosed() {
		return t.raw.Rollback(ctx)
	}
	t.session.finishOpen()
	err := t.raw.Rollback(ctx)
	if err == nil {
		// Begin flushed, so what is queued was queued inside the savepoint.
		t.session.drop()
		t.session.forget()
	}
	return err
}

func (t *batchTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := t.prepare(ctx, sql); err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := t.raw.Exec(ctx, sql, plainArgs(args)...)
	t.session.note(sql, err)
	return tag, err
}

func (t *batchTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := t.prepare(ctx, sql); err != nil {
		return failedRows{err: err}, err
	}
	rows, err := t.raw.Query(ctx, sql, plainArgs(args)...)
	t.session.note(sql, err)
	return t.session.watchRows(rows, sql), err
}

func (t *batchTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := t.prepare(ctx, sql); err != nil {
		return failedRows{err: err}
	}
	return t.session.watchRow(t.raw.QueryRow(ctx, sql, plainArgs(args)...), sql)
}

func (t *batchTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	for _, q := range b.QueuedQueries {
		if err := t.session.check(q.SQL); err != nil {
			return failedBatch{err}
		}
	}
	if err := t.session.flush(ctx); err != nil {
		return failedBatch{err}
	}
	results := &watchedBatch{BatchResults: t.raw.SendBatch(ctx, b), session: t.session, batch: b}
	t.session.open = results
	return results
}

func (t *batchTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, src pgx.CopyFromSource) (int64, error) {
	if err := t.session.flush(ctx); err != nil {
		return 0, err
	}
	n, err := t.raw.CopyFrom(ctx, table, columns, src)
	t.session.note("copy "+table.Sanitize(), err)
	return n, err
}

// LargeObjects returns access to large objects. Its statements run on the
// connection directly; see Conn.
func (t *batchTx) LargeObjects() pgx.LargeObjects {
	_ = t.session.flush(context.Background()) // remembers a failure; the batch's end bounds it
	t.session.bare = t.session.event
	return t.raw.LargeObjects()
}

func (t *batchTx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := t.prepare(ctx, sql); err != nil {
		return nil, err
	}
	desc, err := t.raw.Prepare(ctx, name, sql)
	t.session.note(sql, err)
	return desc, err
}

// Conn returns the connection. Statements run on it directly bypass the queue's
// order, and a failed one is not told apart from what fails after it. The
// transaction cannot be committed there, and a batch whose transaction was rolled
// back there fails.
func (t *batchTx) Conn() *pgx.Conn {
	t.session.bare = t.session.event
	return t.raw.Conn()
}

func (t *batchTx) prepare(ctx context.Context, sql string) error {
	if err := t.session.check(sql); err != nil {
		return err
	}
	return t.session.flush(ctx)
}

func (s *txSession) watchRows(rows pgx.Rows, sql string) pgx.Rows {
	watched := &watchedRows{Rows: rows, session: s, sql: sql}
	s.open = watched
	return watched
}

func (s *txSession) watchRow(row pgx.Row, sql string) pgx.Row {
	watched := &watchedRow{row: row, session: s, sql: sql}
	s.open = watched
	return watched
}

type watchedRows struct {
	pgx.Rows
	session *txSession
	sql     string
}

func (r *watchedRows) Close() {
	r.Rows.Close()
	r.session.note(r.sql, r.Rows.Err())
}

func (r *watchedRows) Err() error {
	err := r.Rows.Err()
	r.session.note(r.sql, err)
	return err
}

func (r *watchedRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.session.note(r.sql, r.Rows.Err())
	return false
}

func (r *watchedRows) finish() { r.Close() }

type watchedRow struct {
	row     pgx.Row
	session *txSession
	sql     string
}

func (r *watchedRow) Scan(dest ...any) error {
	err := r.row.Scan(dest...)
	r.session.note(r.sql, err)
	return err
}

func (r *watchedRow) finish() { _ = r.Scan() }

// watchedBatch is a pipeline of the handler's own.
type watchedBatch struct {
	pgx.BatchResults
	session *txSession
	batch   *pgx.Batch
	read    int // results that were asked for
}

// next returns the SQL of the result that is asked for next.
func (b *watchedBatch) next() string {
	b.read++
	if b.read > len(b.batch.QueuedQueries) {
		return ""
	}
	return b.batch.QueuedQueries[b.read-1].SQL
}

func (b *watchedBatch) Exec() (pgconn.CommandTag, error) {
	sql := b.next()
	tag, err := b.BatchResults.Exec()
	b.session.note(sql, err)
	return tag, err
}

func (b *watchedBatch) Query() (pgx.Rows, error) {
	sql := b.next()
	rows, err := b.BatchResults.Query()
	b.session.note(sql, err)
	return &watchedRows{Rows: rows, session: b.session, sql: sql}, err // the pipeline stays what is open
}

func (b *watchedBatch) QueryRow() pgx.Row {
	sql := b.next()
	return &watchedRow{row: b.BatchResults.QueryRow(), session: b.session, sql: sql}
}

func (b *watchedBatch) finish() { _ = b.Close() }

// Close notes an error under the statement that was not read, if there is just one.
func (b *watchedBatch) Close() error {
	err := b.BatchResults.Close()
	sql := "a pipeline"
	if b.read == len(b.batch.QueuedQueries)-1 {
		sql = b.next()
	}
	b.session.note(sql, err)
	return err
}

// failedRows answers every question with one error.
type failedRows struct{ err error }

func (f failedRows) Close()                                       {}
func (f failedRows) Err() error                                   { return f.err }
func (f failedRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (f failedRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (f failedRows) Next() bool                                   { return false }
func (f failedRows) Scan(...any) error                            { return f.err }
func (f failedRows) Values() ([]any, error)                       { return nil, f.err }
func (f failedRows) RawValues() [][]byte                          { return nil }
func (f failedRows) Conn() *pgx.Conn                              { return nil }
func (f failedRows) TypeMap() *pgtype.Map                         { return nil }

// failedBatch is a pipeline that was not sent.
type failedBatch struct{ err error }

func (f failedBatch) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, f.err }
func (f failedBatch) Query() (pgx.Rows, error)         { return failedRows{f.err}, f.err }
func (f failedBatch) QueryRow() pgx.Row                { return failedRows{f.err} }
func (f failedBatch) Tx() pgx.Tx                       { return nil }
func (f failedBatch) Close() error                     { return f.err }
