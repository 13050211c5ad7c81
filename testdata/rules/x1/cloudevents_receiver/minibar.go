// Package minibar receives CloudEvents from Kafka.
package minibar

import (
	"context"
	"database/sql"

	cloudevents "github.com/cloudevents/sdk-go/v2"
)

// Minibar keeps count of refills.
type Minibar struct{ db *sql.DB }

// Serve receives until ctx ends.
func (m *Minibar) Serve(ctx context.Context, receiver any) error {
	client, err := cloudevents.NewClient(receiver)
	if err != nil {
		return err
	}
	return client.StartReceiver(ctx, m.onRefill)
}

func (m *Minibar) onRefill(ctx context.Context, event cloudevents.Event) error { // want R-KFK-IDEM-X1
	_, err := m.db.ExecContext(ctx, `UPDATE minibars SET refills = refills + 1 WHERE room = $1`, event.Subject())
	return err
}
