// Package bank talks to the bank.
package bank

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
)

// Client is the bank's client.
type Client struct {
	base string
	http *http.Client
}

// New makes a client.
func New(base string, hc *http.Client) *Client { return &Client{base: base, http: hc} }

// Collect takes money from a card.
func (c *Client) Collect(ctx context.Context, card string, cents int64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/debits", bytes.NewReader(fmt.Appendf(nil, "%s %d", card, cents)))
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
