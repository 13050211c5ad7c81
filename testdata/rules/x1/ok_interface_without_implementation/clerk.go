// Package clerk calls an interface that nothing in sight implements: what is behind it is not guessed.
package clerk

import (
	"context"

	"github.com/segmentio/kafka-go"
)

// Archive keeps letters.
type Archive interface {
	File(ctx context.Context, body []byte) error
}

// Run files letters.
func Run(ctx context.Context, r *kafka.Reader, a Archive) error {
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := a.File(ctx, msg.Value); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
