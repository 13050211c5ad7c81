// Command main moves what is in no state of several, which it binds as an array.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"

	"github.com/lib/pq"
	"github.com/segmentio/kafka-go"
)

type evt struct {
	EventID string `json:"event_id"`
	OrderID string `json:"order_id"`
}

type Status string

const (
	Pending  Status = "pending"
	Reserved Status = "reserved"
	Paid     Status = "paid"
)

type svc struct{ db *sql.DB }

func (s *svc) handle(ctx context.Context, m kafka.Message) error {
	var e evt
	if err := json.Unmarshal(m.Value, &e); err != nil {
		log.Print(err)
		return nil
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `UPDATE orders SET status = $2 WHERE id = $1 AND status <> ALL($3)`, e.OrderID, Paid, pq.Array([]Status{Paid, "cancelled"}))
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	if err != nil {
		return err
	}
	if n == 0 {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO outbox (topic, key) VALUES ('order.paid', $1)`, e.OrderID); err != nil {
		return err
	}
	return tx.Commit()
}

func main() {
	ctx := context.Background()
	s := &svc{}
	r := kafka.NewReader(kafka.ReaderConfig{GroupID: "g"})
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if err := s.handle(ctx, m); err != nil {
			log.Fatal(err)
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			log.Fatal(err)
		}
	}
}
