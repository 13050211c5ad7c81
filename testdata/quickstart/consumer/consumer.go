// Package consumer reads billing's topics and hands each record to its handler.
package consumer

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/billing/event"
)

// Billing is what the handlers ask of the service.
type Billing interface {
	Capture(ctx context.Context, orderID, account string, amount int64) error
	Refund(ctx context.Context, key, orderID, account string, amount int64) error
	Invoice(ctx context.Context, eventID, invoiceID, account string, amount int64) error
}

// Consumer is a member of billing's consumer group. Its client must not commit by itself.
type Consumer struct {
	client  *kgo.Client
	billing Billing
}

// New returns a consumer on a client.
func New(client *kgo.Client, billing Billing) *Consumer {
	return &Consumer{client: client, billing: billing}
}

// Run handles records until ctx ends or one fails. Offsets are committed when a batch is done.
func (c *Consumer) Run(ctx context.Context) error {
	for {
		fetches := c.client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("poll: %w", err)
		}
		for _, record := range fetches.Records() {
			if err := c.dispatch(ctx, record); err != nil {
				return fmt.Errorf("%s[%d]@%d: %w", record.Topic, record.Partition, record.Offset, err)
			}
		}
		if err := c.client.CommitUncommittedOffsets(ctx); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
	}
}

func (c *Consumer) dispatch(ctx context.Context, record *kgo.Record) error {
	switch record.Topic {
	case event.TopicPaymentCaptured:
		return c.onPaymentCaptured(ctx, record)
	case event.TopicRefundApproved:
		return c.onRefundApproved(ctx, record)
	case event.TopicInvoiceIssued:
		return c.onInvoiceIssued(ctx, record)
	}
	return fmt.Errorf("no handler for topic %s", record.Topic)
}
