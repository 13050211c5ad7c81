// Package invoices asks twice, and goes on when either question fails: neither is a check.
package invoices

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"

	"github.com/segmentio/kafka-go"
)

type order struct {
	ID    string `json:"id"`
	Event string `json:"event_id"`
	Cents int64  `json:"cents"`
}

// Desk writes invoices.
type Desk struct {
	reader *kafka.Reader
	db     *sql.DB
}

func (d *Desk) seen(ctx context.Context, event string) (bool, error) {
	var there bool
	err := d.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM invoiced_events WHERE event_id = $1)`, event).Scan(&there)
	return there, err
}

func (d *Desk) invoiced(ctx context.Context, order string) (bool, error) {
	var there bool
	err := d.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM invoices WHERE order_no = $1)`, order).Scan(&there)
	return there, err
}

// Run writes an invoice for each order.
func (d *Desk) Run(ctx context.Context) error {
	for {
		msg, err := d.reader.FetchMessage(ctx) // want R-KFK-IDEM-X1
		if err != nil {
			return err
		}
		var o order
		if err := json.Unmarshal(msg.Value, &o); err != nil {
			return err
		}
		there, err := d.seen(ctx, o.Event)
		if err != nil {
			slog.WarnContext(ctx, "not known whether it was seen", "err", err)
		}
		if !there {
			if known, err := d.invoiced(ctx, o.ID); err == nil && known {
				slog.InfoContext(ctx, "there is an invoice", "order", o.ID)
			} else if _, err := d.db.ExecContext(ctx, `INSERT INTO invoices (order_no, cents) VALUES ($1, $2)`, o.ID, o.Cents); err != nil {
				return err
			}
		}
		if err := d.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
