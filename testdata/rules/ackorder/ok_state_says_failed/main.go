// Command main writes the failure down as a state.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

type evt struct {
	EventID string `json:"event_id"`
	ID      string `json:"id"`
}

var errDeclined = errors.New("declined")

type h struct{ db *sql.DB }

func (h *h) notify(ctx context.Context, id string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://x/orders/"+id, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode == 409 {
		return errDeclined
	}
	return nil
}

func (h *h) handle(ctx context.Context, msg *kafka.Message) error {
	var e evt
	if err := json.Unmarshal(msg.Value, &e); err != nil {
		return err
	}
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
	status := "sent"
	if err := h.notify(ctx, e.ID); err != nil {
		status = "failed"
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO notifications (id, status) VALUES ($1, $2)`, e.ID, status); err != nil {
		return err
	}
	return tx.Commit()
}

func main() {
	x := &h{}
	var c *kafka.Consumer
	for {
		msg, err := c.ReadMessage(time.Second)
		if err != nil {
			continue
		}
		if err := x.handle(context.Background(), msg); err != nil {
			panic(fmt.Sprint(err))
		}
		_, _ = c.CommitMessage(msg)
	}
}
