// Command main hands an event on to those who subscribed to it. What it writes down has the subscriber's id, not the event's.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/segmentio/kafka-go"
)

type parcelMoved struct {
	EventID string `json:"event_id"`
	Account string `json:"account"`
	Kind    string `json:"kind"`
}

type dispatcher struct{ db *sql.DB }

func (d *dispatcher) subscribers(ctx context.Context, account string) ([]string, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT id FROM webhooks WHERE account = $1`, account)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (d *dispatcher) handle(ctx context.Context, m kafka.Message) error { // want R-KFK-IDEM-X1
	var evt parcelMoved
	if err := json.Unmarshal(m.Value, &evt); err != nil {
		return err
	}
	ids, err := d.subscribers(ctx, evt.Account)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, err := d.db.ExecContext(ctx, `INSERT INTO webhook_deliveries (webhook_id, kind) VALUES ($1, $2)`, id, evt.Kind); err != nil {
			return err
		}
		if _, err := d.db.ExecContext(ctx, `UPDATE webhooks SET sent = sent + 1 WHERE id = $1`, id); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	ctx := context.Background()
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	d := &dispatcher{db}
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{os.Getenv("BROKER")}, GroupID: "webhooks", Topic: "parcels"})
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if err := d.handle(ctx, m); err != nil {
			log.Fatal(err)
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			log.Fatal(err)
		}
	}
}
