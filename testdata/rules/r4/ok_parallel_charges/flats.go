// Package flats charges the tenants of a flat side by side, each with a key of the event and the tenant.
package flats

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/errgroup"
)

// RentDue is the event.
type RentDue struct {
	EventID string   `json:"event_id"`
	Tenants []string `json:"tenants"`
}

// Handler charges.
type Handler struct {
	DB   *sql.DB
	HTTP *http.Client
	PSP  string
}

// Register adds the handler.
func Register(r *message.Router, sub message.Subscriber, h *Handler) {
	r.AddConsumerHandler("rent", "rent.due", sub, h.Handle)
}

// Handle charges every tenant once.
func (h *Handler) Handle(msg *message.Message) error {
	var evt RentDue
	if err := json.Unmarshal(msg.Payload, &evt); err != nil {
		return err
	}
	ctx := msg.Context()
	tx, err := h.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, tenant := range evt.Tenants {
		g.Go(func() error { return h.charge(ctx, evt.EventID+"/"+tenant, tenant) })
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("rent: %w", err)
	}
	return tx.Commit()
}

func (h *Handler) charge(ctx context.Context, key, tenant string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.PSP+"/charges", strings.NewReader(tenant))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := h.HTTP.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
