// Command main captures a payment with the key of the event.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/fixtures/r4/ok_optional_key/payments"
)

type ParcelHandedOver struct {
	EventID   string `json:"event_id"`
	PaymentID string `json:"payment_id"`
	Cents     int64  `json:"cents"`
}

type Handler struct {
	pool *pgxpool.Pool
	pay  *payments.Client
}

func (h *Handler) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt ParcelHandedOver
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		var id string
		err := tx.QueryRow(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING event_id`, evt.EventID).Scan(&id)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := h.pay.Capture(ctx, "capture:"+evt.EventID, payments.CaptureRequest{PaymentID: evt.PaymentID, Cents: evt.Cents}); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO captures (payment_id, cents) VALUES ($1, $2)`, evt.PaymentID, evt.Cents)
		return err
	})
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://localhost/capture")
	if err != nil {
		log.Fatal(err)
	}
	h := &Handler{pool: pool, pay: payments.New("https://payments.internal")}
	cl, err := kgo.NewClient(kgo.ConsumerGroup("capture"), kgo.ConsumeTopics("parcel.handed-over"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	for {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			log.Fatal(err)
		}
		for _, rec := range fs.Records() {
			if err := h.Handle(ctx, rec); err != nil {
				log.Fatal(err)
			}
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
