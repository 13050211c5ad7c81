// Command main moves a saga by a table of transitions.
package main

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/IBM/sarama"
)

type reply struct {
	EventID string `json:"event_id"`
	Type    string `json:"type"`
	SagaID  string `json:"saga_id"`
}

const (
	started  = "started"
	reserved = "reserved"
)

type transition struct{ from, to string }

var transitions = map[string]transition{"stock.reserved": {started, reserved}}

type h struct{ db *sql.DB }

func (h *h) handle(ctx context.Context, m *sarama.ConsumerMessage) error {
	var r reply
	if err := json.Unmarshal(m.Value, &r); err != nil {
		return err
	}
	t := transitions[r.Type]
	_ = t
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `UPDATE sagas SET state = $3 WHERE id = $1 AND state = $2`, r.SagaID, t.from, t.to)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO outbox (aggregate_id, topic) VALUES ($1, 'x')`, r.SagaID); err != nil {
		return err
	}
	return tx.Commit()
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
