// Package bank implements the gateway over HTTP.
package bank

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
)

// Bank is one bank.
type Bank struct {
	URL  string
	Path string
}

// Withdraw takes money out.
func (b *Bank) Withdraw(ctx context.Context, account string, cents int64) error {
	return b.transact(ctx, account, cents)
}

func (b *Bank) transact(ctx context.Context, account string, cents int64) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.URL+b.Path, bytes.NewReader(fmt.Appendf(nil, "%s %d", account, cents)))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
