// Command main writes by a function of sqlx that is given the pool.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/IBM/sarama"
	"github.com/jmoiron/sqlx"
)

type evt struct {
	EventID string `json:"event_id"`
	OrderID string `json:"order_id"`
}

var errDup = errors.New("dup")

type storage struct{ db *sqlx.DB }

func (s *storage) mark(ctx context.Context, tx *sqlx.Tx, id string) error {
	var got string
	err := tx.GetContext(ctx, &got, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return errDup
	}
	return err
}

func (s *storage) withTx(ctx context.Context, fn func(tx *sqlx.Tx) error) error {
	tx, err := s.db.BeginTxx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func refund(ctx context.Context, q sqlx.ExtContext, id string) error {
	_, err := sqlx.NamedExecContext(ctx, q, `INSERT INTO refunds (order_id) VALUES (:id)`, map[string]any{"id": id})
	return err
}

type h struct{ st *storage }

func (h *h) handle(ctx context.Context, m *sarama.ConsumerMessage) error {
	var e evt
	if err := json.Unmarshal(m.Value, &e); err != nil {
		return err
	}
	err := h.st.withTx(ctx, func(tx *sqlx.Tx) error {
		if err := h.st.mark(ctx, tx, e.EventID); err != nil {
			return err
		}
		return refund(ctx, h.st.db, e.OrderID) // want R-KFK-IDEM-3
	})
	if errors.Is(err, errDup) {
		return nil
	}
	return err
}

func main() {
	c, _ := sarama.NewConsumer(nil, nil)
	pc, _ := c.ConsumePartition("t", 0, 0)
	x := &h{}
	for m := range pc.Messages() {
		if err := x.handle(context.Background(), m); err != nil {
			panic(err)
		}
	}
}

var _ sql.NullBool
