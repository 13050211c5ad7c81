// Command main is built on the companion runtime, which asks before it calls a handler, and sets keys where it is asked to.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/jackc/pgx/v5"

	"github.com/idemlint/idemlint/runtime"
)

type order struct {
	ID    string `json:"id"`
	Cents int64  `json:"cents"`
}

func main() {
	c := &runtime.Consumer{}
	bare := &http.Client{}
	keyed := &http.Client{Transport: &runtime.KeyTransport{}}
	runtime.Handle(c, "orders", func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		if _, err := tx.Exec(ctx, `UPDATE totals SET cents = cents + $1`, e.Payload.Cents); err != nil {
			return err
		}
		return charge(ctx, bare, e.Payload)
	})
	runtime.Handle(c, "refunds", func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		return charge(ctx, keyed, e.Payload)
	})
	runtime.Handle(c, "payouts", func(ctx context.Context, tx pgx.Tx, e runtime.Event[order]) error {
		body, _ := json.Marshal(e.Payload)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://psp.example/payouts", bytes.NewReader(body))
		if err != nil {
			return err
		}
		key, err := runtime.IdempotencyKey(ctx, "payout")
		if err != nil {
			return err
		}
		req.Header.Set("Idempotency-Key", key.String())
		resp, err := bare.Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	_ = c.Run(context.Background())
}

func charge(ctx context.Context, client *http.Client, o order) error {
	body, _ := json.Marshal(o)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://psp.example/charges", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(req) // want R-KFK-IDEM-4
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
