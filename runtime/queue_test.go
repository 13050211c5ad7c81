package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
)

func TestTheArgumentsOfAQueuedStatementMayBeUsedAgain(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(20, 1)...)
	args := make([]any, 4)
	w.start(w.config(), func(c *runtime.Consumer) {
		runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
			args[0], args[1], args[2], args[3] = e.ID, e.Payload.Key, e.Payload.Seq, e.Payload.Amount
			return runtime.Queue(ctx, tx, insertSQL, args...)
		})
	})
	w.caughtUp()
	w.exactly(20)
}

// TestAnEventIDArrivesInAnyColumnAsPgxAloneWouldSendIt writes ids into columns of
// several types, in each of pgx's modes, through the runtime and beside it. What pgx
// alone takes must arrive alike.
func TestAnEventIDArrivesInAnyColumnAsPgxAloneWouldSendIt(t *testing.T) {
	columns := []string{"uuid", "text", "varchar(40)", "json", "jsonb", "bytea", "uuid[]", "text[]"}
	arg := func(column string, id uuid.UUID) any {
		if strings.HasSuffix(column, "[]") {
			return []uuid.UUID{id, id}
		}
		return id
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			insert := func(i int) string { return fmt.Sprintf(`INSERT INTO ids%d VALUES ($1, $2)`, i) }
			o := orders(1, 1)[0]
			alone := make([]error, len(columns))
			for i, column := range columns {
				w.exec(fmt.Sprintf(`CREATE TABLE ids%d (how text, id %s)`, i, column))
				_, alone[i] = w.pool.Exec(t.Context(), insert(i), "alone", arg(column, o.EventID))
			}
			w.produce(o)
			w.start(w.config(), func(c *runtime.Consumer) {
				runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
					for i, column := range columns {
						if alone[i] != nil {
							continue
						}
						if _, err := tx.Exec(ctx, insert(i), "direct", arg(column, e.ID)); err != nil {
							return err
						}
						if err := runtime.Queue(ctx, tx, insert(i), "queued", arg(column, e.ID)); err != nil {
							return err
						}
					}
					return nil
				})
			})
			w.caughtUp()
			for i, column := range columns {
				values := w.count(fmt.Sprintf(`SELECT count(DISTINCT id::text) FROM ids%d`, i))
				rows := w.count(fmt.Sprintf(`SELECT count(*) FROM ids%d`, i))
				if alone[i] == nil && (values != 1 || rows != 3) {
					t.Errorf("column %s: %d different values in %d rows, want one in three", column, values, rows)
				}
			}
		})
	}
}

// TestNothingIsQueuedOnTheTransactionOfAHandlerThatHasReturned has a handler that keeps its
// first tx. What it queues or emits there would go nowhere.
func TestNothingIsQueuedOnTheTransactionOfAHandlerThatHasReturned(t *testing.T) {
	w := newWorld(t, 1)
	w.produce(orders(2, 1)...)
	cfg := w.config()
	cfg.BatchSize = 1
	var kept pgx.Tx
	w.start(cfg, handling(func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		if kept == nil {
			kept = tx
		} else if err := runtime.Queue(ctx, kept, insertSQL, e.ID, "kept", 0, 0); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("Queue answered %v, want ErrTxClosed", err)
		} else if _, err := runtime.Emit(ctx, kept, "nowhere", "", receipt{}); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("Emit answered %v, want ErrTxClosed", err)
		}
		return queueOrder(ctx, tx, e)
	})(w))
	w.caughtUp()
	w.exactly(2)
}
