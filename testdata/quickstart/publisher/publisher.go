// Package publisher writes billing's own events.
package publisher

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/billing/event"
)

// Publisher writes events with a client.
type Publisher struct {
	client *kgo.Client
}

// New returns a publisher on a client.
func New(client *kgo.Client) *Publisher { return &Publisher{client: client} }

// InvoiceIssued announces an invoice. Its event's id is random: ids of one time are spread over the whole index of
// whoever keeps them.
func (p *Publisher) InvoiceIssued(ctx context.Context, invoiceID, account string, amount int64) error {
	return p.publish(ctx, event.TopicInvoiceIssued, invoiceID, event.InvoiceIssued{
		EventID:   uuid.NewString(),
		InvoiceID: invoiceID,
		Account:   account,
		Amount:    amount,
	})
}

// InvoiceCancelled takes an invoice back. Its event's id is ordered by time.
func (p *Publisher) InvoiceCancelled(ctx context.Context, invoiceID string) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make event id: %w", err)
	}
	return p.publish(ctx, event.TopicInvoiceCancelled, invoiceID, event.InvoiceCancelled{
		EventID:   id.String(),
		InvoiceID: invoiceID,
	})
}

func (p *Publisher) publish(ctx context.Context, topic, key string, e any) error {
	value, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event for %s: %w", topic, err)
	}
	record := &kgo.Record{Topic: topic, Key: []byte(key), Value: value}
	if err := p.client.ProduceSync(ctx, record).FirstErr(); err != nil {
		return fmt.Errorf("publish to %s: %w", topic, err)
	}
	return nil
}
