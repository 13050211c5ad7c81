// Command main reserves a row, calls, and writes down in the row what came of it.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/smtp"

	"github.com/IBM/sarama"
)

type evt struct {
	EventID string `json:"event_id"`
	To      string `json:"to"`
}

type h struct{ db *sql.DB }

func (h *h) handle(ctx context.Context, m *sarama.ConsumerMessage) error {
	var e evt
	if err := json.Unmarshal(m.Value, &e); err != nil {
		return err
	}
	res, err := h.db.ExecContext(ctx, `INSERT INTO notifications (event_id, status) VALUES ($1, 'pending') ON CONFLICT (event_id) DO NOTHING`, e.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if err := smtp.SendMail("x", nil, "a", []string{e.To}, nil); err != nil {
		return err
	}
	_, err = h.db.ExecContext(ctx, `UPDATE notifications SET status = 'sent' WHERE event_id = $1`, e.EventID)
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
