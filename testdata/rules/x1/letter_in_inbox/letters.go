// Package letters puts a letter into somebody's inbox for each delivery: an inbox of people remembers no events.
package letters

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
)

type letter struct {
	EventID string `json:"event_id"`
	To      string `json:"to"`
	Text    string `json:"text"`
}

func Deliver(ctx context.Context, db *sql.DB, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var l letter
	if err := json.Unmarshal(rec.Value, &l); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `INSERT INTO member_inbox (member_id, body) VALUES ($1, $2)`, l.To, l.Text)
	return err
}

// DeliverOnce keeps the event's id with the letter.
func DeliverOnce(ctx context.Context, db *sql.DB, rec *kgo.Record) error {
	var l letter
	if err := json.Unmarshal(rec.Value, &l); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `INSERT INTO member_inbox (member_id, body, event_id) VALUES ($1, $2, $3) ON CONFLICT (event_id) DO NOTHING`, l.To, l.Text, l.EventID)
	return err
}
