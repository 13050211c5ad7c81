// Package gates writes its statements out: one counts a use, the other marks the event first.
package gates

import (
	"context"
	"encoding/json"

	"github.com/segmentio/kafka-go"
	"github.com/uptrace/bun"
)

type use struct {
	ID   string `json:"id"`
	Gate int64  `json:"gate"`
}

// Count counts each delivery.
func Count(ctx context.Context, r *kafka.Reader, db *bun.DB) error {
	for {
		msg, err := r.FetchMessage(ctx) // want R-KFK-IDEM-X1
		if err != nil {
			return err
		}
		var u use
		if err := json.Unmarshal(msg.Value, &u); err != nil {
			return err
		}
		if _, err := db.NewRaw("UPDATE gates SET uses = uses + 1 WHERE id = ?", u.Gate).Exec(ctx); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

// CountOnce counts each event.
func CountOnce(ctx context.Context, r *kafka.Reader, db *bun.DB) error {
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var u use
		if err := json.Unmarshal(msg.Value, &u); err != nil {
			return err
		}
		err = db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
			res, err := tx.NewRaw("INSERT INTO processed_uses (event_id) VALUES (?) ON CONFLICT DO NOTHING", u.ID).Exec(ctx)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return err
			}
			_, err = tx.NewRaw("UPDATE gates SET uses = uses + 1 WHERE id = ?", u.Gate).Exec(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
