package runtime_test

import (
	"context"
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

// TestAnEventIDArrivesInAnyColumnAsPgxAloneWouldSendIt writes an id into columns of
// several types, in each of pgx's modes, through the runtime and beside it.
func TestAnEventIDArrivesInAnyColumnAsPgxAloneWouldSendIt(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		for _, column := range []string{"uuid", "text", "varchar(40)", "json", "jsonb", "bytea", "uuid[]", "text[]"} {
			t.Run(fmt.Sprintf("%s/%s", mode, column), func(t *testing.T) {
				w := newWorld(t, 1)
				w.exec(`CREATE TABLE ids (how text, id ` + column + `)`)
				arg := func(id uuid.UUID) any { return id }
				if strings.HasSuffix(column, "[]") {
					arg = func(id uuid.UUID) any { return []uuid.UUID{id, id} }
				}
				w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
				o := orders(1, 1)[0]
				const insert = `INSERT INTO ids VALUES ($1, $2)`
				_, alone := w.pool.Exec(t.Context(), insert, "alone", arg(o.EventID))
				w.produce(o)
				cfg := w.config()
				cfg.DeadLetter = &shelf{}
				w.start(cfg, func(c *runtime.Consumer) {
					runtime.Handle(c, w.topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
						err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
							_, err := tx.Exec(ctx, insert, "direct", arg(e.ID))
							return err
						})
						if err != nil && alone == nil {
							t.Errorf("through the runtime: %v; pgx alone takes it", err)
						}
						if err != nil {
							return nil
						}
						return runtime.Queue(ctx, tx, insert, "queued", arg(e.ID))
					})
				})
				w.caughtUp()
				if n := w.count(`SELECT count(DISTINCT id::text) FROM ids`); n > 1 {
					t.Errorf("%d different values", n)
				}
				if n := w.count(`SELECT count(*) FROM ids`); n != 3 && alone == nil {
					t.Errorf("%d rows, want 3", n)
				}
			})
		}
	}
}
