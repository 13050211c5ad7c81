// Package psp talks to the payment provider.
package psp

import (
	"bytes"
	"context"
	"net/http"

	"github.com/google/uuid"
)

// Client is the provider's client.
type Client struct {
	Base string
	HTTP *http.Client
}

// Charge takes money from a card.
func (c *Client) Charge(ctx context.Context, card string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+"/charges", bytes.NewReader([]byte(card)))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", newKey())
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// AuthorizeAndCapture does both with one key.
func (c *Client) AuthorizeAndCapture(ctx context.Context, key, card string) error {
	if err := c.post(ctx, "/payments", key, card); err != nil {
		return err
	}
	return c.post(ctx, "/captures", key, card)
}

func (c *Client) post(ctx context.Context, path, key, card string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Base+path, bytes.NewReader([]byte(card)))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func newKey() string { return "charge-" + uuid.NewString() }
