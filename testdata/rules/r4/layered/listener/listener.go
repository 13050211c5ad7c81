// Package listener takes invoices from the log.
package listener

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/IBM/sarama"
)

// InvoiceDue is the event.
type InvoiceDue struct {
	EventID string `json:"event_id"`
	Card    string `json:"card"`
	Cents   int64  `json:"cents"`
}

// Cashier collects.
type Cashier interface {
	Collect(ctx context.Context, card string, cents int64) error
}

// Listener hands invoices to the cashier once.
type Listener struct {
	DB      *sql.DB
	Cashier Cashier
}

// Setup is part of the interface.
func (l *Listener) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup is part of the interface.
func (l *Listener) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim handles the messages of a partition.
func (l *Listener) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		if err := l.handle(session.Context(), msg); err != nil {
			return err
		}
		session.MarkMessage(msg, "")
	}
	return nil
}

func (l *Listener) handle(ctx context.Context, msg *sarama.ConsumerMessage) error {
	var evt InvoiceDue
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	tx, err := l.DB.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if err := l.Cashier.Collect(ctx, evt.Card, evt.Cents); err != nil { // want-alone R-KFK-IDEM-4
		return err
	}
	return tx.Commit()
}
