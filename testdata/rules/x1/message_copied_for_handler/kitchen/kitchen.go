// Package kitchen cooks what letters ask for.
package kitchen

import (
	"context"
	"database/sql"

	"example.com/fixtures/x1/message_copied_for_handler/bus"
)

// Kitchen cooks.
type Kitchen struct{ DB *sql.DB }

// Handle cooks one dish.
func (k *Kitchen) Handle(ctx context.Context, l *bus.Letter) error { // want R-KFK-IDEM-X1
	_, err := k.DB.ExecContext(ctx, `INSERT INTO dishes (body) VALUES ($1)`, l.Body)
	return err
}

// Bus serves the kitchen.
func Bus(db *sql.DB) *bus.Bus {
	return &bus.Bus{Handlers: map[string]bus.Handler{"orders": &Kitchen{DB: db}}}
}
