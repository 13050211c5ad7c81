// Package bus is an in-house client that no table knows. Nothing in sight implements it.
package bus

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Parcel struct {
	Offset int64
	Body   []byte
}

type Order struct {
	EventID string
	Total   int64
}

type Receiver interface {
	Deliver(ctx context.Context, o Order) error
}

type Line interface {
	Attach(topic string, h func(context.Context, Order) error)
	Settle(rec *kgo.Record) error
}
