// Package parcels moves a parcel from state to state, which it names in the arguments of the statement.
package parcels

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/smtp"

	"github.com/segmentio/kafka-go"
)

type parcels struct{ db *sql.DB }

func (p *parcels) move(ctx context.Context, id int64, from, to string) (bool, error) {
	res, err := p.db.ExecContext(ctx, `UPDATE parcels SET status = $3 WHERE id = $1 AND status = $2`, id, from, to)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// Run tells the owner, once, that a parcel arrived.
func Run(ctx context.Context, r *kafka.Reader, db *sql.DB) error {
	p := &parcels{db}
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var e struct {
			Parcel int64  `json:"parcel"`
			Owner  string `json:"owner"`
		}
		if err := json.Unmarshal(msg.Value, &e); err != nil {
			return err
		}
		moved, err := p.move(ctx, e.Parcel, "in_transit", "delivered")
		if err != nil {
			return err
		}
		if moved {
			if err := smtp.SendMail("mx:25", nil, "parcels@example.com", []string{e.Owner}, []byte("it is there")); err != nil {
				return err
			}
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
