// Command main keeps the offset for the record, and falls back on it.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/segmentio/kafka-go"
)

type message struct {
	Topic   string
	Offset  int64
	EventID string
}

func from(m kafka.Message) (message, error) {
	var h struct{ EventID string }
	if err := json.Unmarshal(m.Value, &h); err != nil {
		return message{}, err
	}
	id := h.EventID
	if id == "" {
		id = fmt.Sprintf("%s-%d", m.Topic, m.Offset) // want R-KFK-IDEM-X2
	}
	return message{Topic: m.Topic, Offset: m.Offset, EventID: id}, nil
}

func handle(ctx context.Context, db *sql.DB, m message) error {
	res, err := db.ExecContext(ctx, `INSERT INTO orders (event_id, topic, msg_offset) VALUES ($1, $2, $3) ON CONFLICT (event_id) DO NOTHING`, m.EventID, m.Topic, m.Offset)
	if err != nil {
		return err
	}
	_, err = res.RowsAffected()
	return err
}

func main() {
	r := kafka.NewReader(kafka.ReaderConfig{GroupID: "g"})
	for {
		km, err := r.FetchMessage(context.Background())
		if err != nil {
			return
		}
		m, err := from(km)
		if err != nil {
			return
		}
		if err := handle(context.Background(), nil, m); err != nil {
			return
		}
		_ = r.CommitMessages(context.Background(), km)
	}
}
