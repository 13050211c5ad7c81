package consumer

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/billing/event"
)

// onPaymentCaptured books a payment. Kafka delivers a record again after a crash or a rebalance, and nothing on the
// way asks whether the event has been booked: the customer is credited twice.
func (c *Consumer) onPaymentCaptured(ctx context.Context, record *kgo.Record) error {
	var e event.PaymentCaptured
	if err := json.Unmarshal(record.Value, &e); err != nil {
		return fmt.Errorf("decode payment: %w", err)
	}
	return c.billing.Capture(ctx, e.OrderID, e.Account, e.Amount)
}

// onRefundApproved books a refund once for a place in the log. A producer that sends the event again puts it at
// another offset, where the key is a new one: the money goes back twice.
func (c *Consumer) onRefundApproved(ctx context.Context, record *kgo.Record) error {
	var e event.RefundApproved
	if err := json.Unmarshal(record.Value, &e); err != nil {
		return fmt.Errorf("decode refund: %w", err)
	}
	key := fmt.Sprintf("%s/%d/%d", record.Topic, record.Partition, record.Offset)
	return c.billing.Refund(ctx, key, e.OrderID, e.Account, e.Amount)
}

// onInvoiceIssued books an invoice once for its event, wherever and however often that arrives.
func (c *Consumer) onInvoiceIssued(ctx context.Context, record *kgo.Record) error {
	var e event.InvoiceIssued
	if err := json.Unmarshal(record.Value, &e); err != nil {
		return fmt.Errorf("decode invoice: %w", err)
	}
	return c.billing.Invoice(ctx, e.EventID, e.InvoiceID, e.Account, e.Amount)
}
