// Package payments is the client of the payment service.
package payments

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

type Client struct {
	base string
	http *http.Client
}

func New(base string) *Client {
	return &Client{base: base, http: &http.Client{
		Timeout: 10 * time.Second,
	}}
}

type CaptureRequest struct {
	PaymentID string `json:"payment_id"`
	Cents     int64  `json:"cents"`
}

func (c *Client) Capture(ctx context.Context, key string, in CaptureRequest) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/payments/"+in.PaymentID+"/capture", bytes.NewReader(body))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("capture: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return fmt.Errorf("capture: %s", resp.Status)
	}
	return nil
}
