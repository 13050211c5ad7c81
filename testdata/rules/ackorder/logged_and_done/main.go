// Command main logs what went wrong and returns nothing.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"

	"github.com/ThreeDotsLabs/watermill/message"
)

type evt struct {
	EventID string `json:"event_id"`
	OrderID string `json:"order_id"`
}

type h struct{ db *sql.DB }

func (h *h) book(ctx context.Context, e evt) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, e.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO bookings (order_id) VALUES ($1)`, e.OrderID); err != nil { // want R-KFK-IDEM-3
		return err
	}
	return tx.Commit()
}

func (h *h) Handle(msg *message.Message) error {
	var e evt
	if err := json.Unmarshal(msg.Payload, &e); err != nil {
		return nil
	}
	if err := h.book(msg.Context(), e); err != nil {
		log.Printf("booking failed: %v", err)
		return nil
	}
	return nil
}

func main() {
	r, _ := message.NewRouter(message.RouterConfig{}, nil)
	x := &h{}
	r.AddNoPublisherHandler("a", "b", nil, x.Handle)
	_ = r.Run(context.Background())
}
