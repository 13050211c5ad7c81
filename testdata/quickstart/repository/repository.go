// Package repository keeps the ledger in PostgreSQL. The tables are in ../migrations.
package repository

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Ledger is the ledger's tables.
type Ledger struct {
	pool *pgxpool.Pool
}

// New returns a ledger on a pool.
func New(pool *pgxpool.Pool) *Ledger { return &Ledger{pool: pool} }

// InTx runs do in one transaction, which is rolled back if do fails.
func (l *Ledger) InTx(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, l.pool, do)
}

// MarkProcessed notes an event as done and tells whether this is the first time.
func (l *Ledger) MarkProcessed(ctx context.Context, tx pgx.Tx, eventID string) (bool, error) {
	tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT (event_id) DO NOTHING`, eventID)
	if err != nil {
		return false, fmt.Errorf("mark event %s: %w", eventID, err)
	}
	return tag.RowsAffected() == 1, nil
}

// Book adds an amount to an account and writes the entry for it.
func (l *Ledger) Book(ctx context.Context, tx pgx.Tx, account, reference string, amount int64) error {
	if _, err := tx.Exec(ctx, `INSERT INTO ledger_entry (account, reference, amount) VALUES ($1, $2, $3)`, account, reference, amount); err != nil {
		return fmt.Errorf("write entry for %s: %w", reference, err)
	}
	if _, err := tx.Exec(ctx, `UPDATE account SET balance = balance + $2 WHERE id = $1`, account, amount); err != nil {
		return fmt.Errorf("change balance of %s: %w", account, err)
	}
	return nil
}

// ForgetProcessed deletes the marks of events that are older than any redelivery can be.
func (l *Ledger) ForgetProcessed(ctx context.Context, before time.Time) error {
	if _, err := l.pool.Exec(ctx, `DELETE FROM processed_event WHERE processed_at < $1`, before); err != nil {
		return fmt.Errorf("forget events before %s: %w", before, err)
	}
	return nil
}
