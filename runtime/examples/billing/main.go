// Command billing is a service on package runtime: it charges every confirmed order once at a payment provider and
// books the invoice, while orders are delivered twice and the provider loses answers.
//
//	go run ./runtime/examples/billing
//
// Without anything else it brings a broker, a database and a provider of its own, and prints what happened.
// KAFKA_BROKERS (host:port, separated by commas) and DATABASE_URL name real ones. This file is the service; what it
// is shown with is in demo.go.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
)

// OrderConfirmed is the event that the order service sends.
type OrderConfirmed struct {
	EventID uuid.UUID `json:"eventId"`
	OrderID string    `json:"orderId"`
	Cents   int64     `json:"cents"`
}

// ChargeRequest and Charge are what the payment provider takes and answers.
type (
	ChargeRequest struct {
		OrderID string `json:"orderId"`
		Cents   int64  `json:"cents"`
	}
	Charge struct {
		ID    string `json:"id"`
		Cents int64  `json:"cents"`
	}
)

const schema = `
CREATE TABLE invoice (order_id text PRIMARY KEY, cents bigint NOT NULL, state text NOT NULL);
CREATE TABLE ledger_entry (event_id uuid NOT NULL, order_id text NOT NULL, charge_id text NOT NULL, cents bigint NOT NULL)`

// Billing is the service.
type Billing struct {
	provider string // its URL
	client   *http.Client
}

func newBilling(provider string) *Billing {
	return &Billing{provider: provider, client: &http.Client{Transport: &runtime.KeyTransport{}}}
}

// newConsumer returns the service's consumer, to be run.
func (b *Billing) newConsumer(pool *pgxpool.Pool, brokers []string, topic string, logger *slog.Logger) (*runtime.Consumer, error) {
	consumer, err := runtime.New(pool, runtime.Config{Brokers: brokers, Group: "billing-service", Logger: logger})
	if err != nil {
		return nil, err
	}
	runtime.HandleCall(consumer, topic, runtime.Call[OrderConfirmed, ChargeRequest, Charge]{
		Step:    "charge",
		Timeout: time.Second,
		Intent:  b.intend,
		Do:      b.charge,
		Result:  b.book,
	})
	return consumer, nil
}

// intend runs in the first transaction.
func (b *Billing) intend(ctx context.Context, tx pgx.Tx, e runtime.Event[OrderConfirmed]) (ChargeRequest, error) {
	p := e.Payload
	err := runtime.Queue(ctx, tx, `INSERT INTO invoice (order_id, cents, state) VALUES ($1, $2, 'open')`, p.OrderID, p.Cents)
	return ChargeRequest{OrderID: p.OrderID, Cents: p.Cents}, err
}

// charge runs outside of any transaction, as often as it takes. The client sets the event's idempotency key.
func (b *Billing) charge(ctx context.Context, _ runtime.Event[OrderConfirmed], request ChargeRequest) (Charge, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return Charge{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, b.provider+"/v1/charges", bytes.NewReader(body))
	if err != nil {
		return Charge{}, err
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return Charge{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Charge{}, fmt.Errorf("charging order %s: %s", request.OrderID, resp.Status)
	}
	var charge Charge
	err = json.NewDecoder(resp.Body).Decode(&charge)
	return charge, err
}

// book runs in the second transaction, with the mark that the event is processed.
func (b *Billing) book(ctx context.Context, tx pgx.Tx, e runtime.Event[OrderConfirmed], charge Charge) error {
	if err := runtime.Queue(ctx, tx, `UPDATE invoice SET state = 'paid' WHERE order_id = $1`, e.Payload.OrderID); err != nil {
		return err
	}
	return runtime.Queue(ctx, tx, `INSERT INTO ledger_entry (event_id, order_id, charge_id, cents) VALUES ($1, $2, $3, $4)`,
		e.ID, e.Payload.OrderID, charge.ID, charge.Cents)
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	// Each lost answer is a warning, which here would bury the outcome.
	logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	outcome, err := demo{orders: 500, duplicates: 0.28, trouble: 0.1, logger: logger}.run(ctx, os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(outcome)
}
