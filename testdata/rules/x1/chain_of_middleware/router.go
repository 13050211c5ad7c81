// Package chain puts handlers behind lists of middleware: what is in the list of one route protects that route alone.
package chain

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

	"github.com/IBM/sarama"
)

type refund struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

type handler func(context.Context, refund) error

type middleware func(handler) handler

func chain(h handler, mws ...middleware) handler {
	for i := len(mws) - 1; i >= 0; i-- {
		h = mws[i](h)
	}
	return h
}

type txKey struct{}

func once(db *sql.DB) middleware {
	return func(next handler) handler {
		return func(ctx context.Context, r refund) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			res, err := tx.ExecContext(ctx, `INSERT INTO processed_refunds (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, r.ID)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return err
			}
			if err := next(context.WithValue(ctx, txKey{}, tx), r); err != nil {
				return err
			}
			return tx.Commit()
		}
	}
}

func logged(next handler) handler {
	return func(ctx context.Context, r refund) error {
		err := next(ctx, r)
		slog.InfoContext(ctx, "handled", "refund", r.ID, "err", err)
		return err
	}
}

type router struct {
	routes map[string]handler
}

func (r *router) on(topic string, h handler, mws ...middleware) { r.routes[topic] = chain(h, mws...) }

func (r *router) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (r *router) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (r *router) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		var e refund
		if err := json.Unmarshal(msg.Value, &e); err != nil {
			continue
		}
		if err := r.routes[msg.Topic](session.Context(), e); err != nil {
			return err
		}
		session.MarkMessage(msg, "")
	}
	return nil
}

type ledger struct{ db *sql.DB }

func (l *ledger) book(ctx context.Context, r refund) error {
	_, err := ctx.Value(txKey{}).(*sql.Tx).ExecContext(ctx, `INSERT INTO refunds (amount) VALUES ($1)`, r.Amount)
	return err
}

func (l *ledger) fee(ctx context.Context, r refund) error {
	_, err := ctx.Value(txKey{}).(*sql.Tx).ExecContext(ctx, `INSERT INTO fees (amount) VALUES ($1)`, r.Amount/100)
	return err
}

func (l *ledger) tally(ctx context.Context, r refund) error { // want R-KFK-IDEM-X1
	_, err := l.db.ExecContext(ctx, `UPDATE tallies SET refunds = refunds + 1`)
	return err
}

// Run serves a group.
func Run(ctx context.Context, group sarama.ConsumerGroup, db *sql.DB) error {
	l := &ledger{db}
	r := &router{routes: make(map[string]handler)}
	r.on("refunds", l.book, logged, once(db))
	r.on("fees", l.fee, once(db), logged)
	r.on("tallies", l.tally, logged)
	return group.Consume(ctx, []string{"refunds", "fees", "tallies"}, r)
}
