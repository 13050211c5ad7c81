// Command main tells by the status code what came of a call.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

type evt struct {
	EventID string `json:"event_id"`
	ID      string `json:"id"`
}

var errDeclined = status.Error(codes.FailedPrecondition, "declined")

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
	err = h.notify(ctx, e.ID)
	switch status.Code(err) {
	case codes.OK:
	case codes.FailedPrecondition:
		if _, err := tx.ExecContext(ctx, `INSERT INTO declined (id) VALUES ($1)`, e.ID); err != nil {
			return err
		}
		return tx.Commit()
	default:
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
