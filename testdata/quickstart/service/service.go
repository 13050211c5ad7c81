// Package service books what the events say.
package service

import (
	"context"

	"github.com/jackc/pgx/v5"

	"example.com/billing/repository"
)

// Billing books payments, refunds and invoices.
type Billing struct {
	ledger *repository.Ledger
}

// New returns a service on a ledger.
func New(ledger *repository.Ledger) *Billing { return &Billing{ledger: ledger} }

// Capture books a payment.
func (b *Billing) Capture(ctx context.Context, orderID, account string, amount int64) error {
	return b.ledger.InTx(ctx, func(tx pgx.Tx) error {
		return b.ledger.Book(ctx, tx, account, "payment of order "+orderID, amount)
	})
}

// Refund books a refund, unless the one with that key has been booked.
func (b *Billing) Refund(ctx context.Context, key, orderID, account string, amount int64) error {
	return b.once(ctx, key, func(tx pgx.Tx) error {
		return b.ledger.Book(ctx, tx, account, "refund of order "+orderID, amount)
	})
}

// Invoice books an invoice, unless that event has been booked.
func (b *Billing) Invoice(ctx context.Context, eventID, invoiceID, account string, amount int64) error {
	return b.once(ctx, eventID, func(tx pgx.Tx) error {
		return b.ledger.Book(ctx, tx, account, "invoice "+invoiceID, -amount)
	})
}

// once does the work in the transaction that marks its key, and nothing if the key is marked already.
func (b *Billing) once(ctx context.Context, key string, work func(tx pgx.Tx) error) error {
	return b.ledger.InTx(ctx, func(tx pgx.Tx) error {
		first, err := b.ledger.MarkProcessed(ctx, tx, key)
		if err != nil || !first {
			return err
		}
		return work(tx)
	})
}
