// Command main names the state it moves to among those it moves from.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/smtp"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type State string

const (
	Created   State = "created"
	Collected State = "collected"
	Delivered State = "delivered"
)

type shipments struct{ pool *pgxpool.Pool }

// Move reports whether the shipment was in one of the states from and is now in to.
func (s *shipments) Move(ctx context.Context, id string, to State, from ...State) (bool, error) {
	tag, err := s.pool.Exec(ctx, `UPDATE shipments SET state = $2, changed_at = now() WHERE id = $1 AND state = ANY($3)`, id, to, from)
	if err != nil {
		return false, fmt.Errorf("move %s: %w", id, err)
	}
	return tag.RowsAffected() > 0, nil
}

type courier struct {
	shipments *shipments
	mail      func(to, body string) error
}

type scan struct {
	Shipment string `json:"shipment"`
	Mail     string `json:"mail"`
}

func (c *courier) onDelivered(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var s scan
	if err := json.Unmarshal(rec.Value, &s); err != nil {
		return err
	}
	moved, err := c.shipments.Move(ctx, s.Shipment, Delivered, Created, Delivered)
	if err != nil {
		return err
	}
	if !moved {
		return nil
	}
	return c.mail(s.Mail, "your parcel has been delivered")
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	c := &courier{&shipments{pool}, func(to, body string) error {
		return smtp.SendMail("mail:25", nil, "parcels@example.com", []string{to}, []byte(body))
	}}
	cl, err := kgo.NewClient(kgo.ConsumerGroup("courier"), kgo.ConsumeTopics("scans"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	for {
		fs := cl.PollFetches(ctx)
		for _, rec := range fs.Records() {
			if err := c.onDelivered(ctx, rec); err != nil {
				log.Fatal(err)
			}
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
