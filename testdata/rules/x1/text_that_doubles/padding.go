// Package padding pads what it stores with a text that it doubles until it is long enough.
package padding

import (
	"context"
	"database/sql"

	"github.com/segmentio/kafka-go"
)

func pad(n int) string {
	s := " "
	for len(s) < n {
		s += s
	}
	return s
}

func fill(s string, n int) string {
	for i := 0; i < n; i++ {
		s = s + "-" + s
	}
	return s
}

// Run stores padded names.
func Run(ctx context.Context, r *kafka.Reader, db *sql.DB, width int) error {
	for {
		msg, err := r.FetchMessage(ctx) // want R-KFK-IDEM-X1
		if err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, `INSERT INTO names (name, filler) VALUES ($1, $2)`, string(msg.Value)+pad(width), fill("x", width)); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
