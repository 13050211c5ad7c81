// Package bus hands decoded events to the functions of a service.
package bus

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/segmentio/kafka-go"
)

// Subscribe calls fn for every message of the reader.
func Subscribe[T any](ctx context.Context, r *kafka.Reader, fn func(context.Context, T) error) error {
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var evt T
		if err := json.Unmarshal(m.Value, &evt); err != nil {
			return fmt.Errorf("decode: %w", err)
		}
		if err := fn(ctx, evt); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}
