// Package relay sends what is pending.
package relay

import (
	"context"

	"example.com/fixtures/r1/outbox_relay_layered/store"
)

type Source interface {
	Pending(ctx context.Context, limit int) ([]*store.OutboxRow, error)
}

type Publisher interface {
	Publish(ctx context.Context, topic, messageID string, payload []byte) error
}

type Relay struct {
	src Source
	pub Publisher
}

func New(src Source, pub Publisher) *Relay { return &Relay{src, pub} }

func (r *Relay) Once(ctx context.Context) error {
	rows, err := r.src.Pending(ctx, 100)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := r.pub.Publish(ctx, row.Topic, row.ID, row.Payload); err != nil {
			return err
		}
	}
	return nil
}
