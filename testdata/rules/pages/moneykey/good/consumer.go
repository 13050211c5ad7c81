// Package rent tells the provider which charges are one.
package rent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type RentDue struct {
	EventID string `json:"event_id"`
	Lease   string `json:"lease"`
}

type Consumer struct {
	pool *pgxpool.Pool
	psp  string
}

// page:begin
func (c *Consumer) OnRentDue(ctx context.Context, rec *kgo.Record) error {
	var evt RentDue
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return c.charge(ctx, evt)
	})
}

func (c *Consumer) charge(ctx context.Context, evt RentDue) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.psp+"/v1/charges", bytes.NewReader([]byte(evt.Lease)))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", "charge-"+evt.EventID)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("charge for lease %s: %s", evt.Lease, resp.Status)
	}
	return nil
}

// page:end
