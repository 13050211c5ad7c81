// Command main opens an envelope whose data may be anything.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type handler interface {
	Handle(ctx context.Context, tx pgx.Tx, body map[string]any) error
}

type envelope struct {
	ID   string         `json:"id"`
	Type string         `json:"type"`
	Data map[string]any `json:"data"`
}

type served struct{ pool *pgxpool.Pool }

func (s served) Handle(ctx context.Context, tx pgx.Tx, body map[string]any) error { // want R-KFK-IDEM-X1
	p := struct{ Dish string }{body["dish"].(string)}
	_, err := tx.Exec(ctx, `UPDATE dishes SET served = served + 1 WHERE name = $1`, p.Dish)
	return err
}

type cooked struct{ pool *pgxpool.Pool }

func (s cooked) Handle(ctx context.Context, tx pgx.Tx, body map[string]any) error { // want R-KFK-IDEM-X1
	p := struct{ Dish string }{body["dish"].(string)}
	_, err := tx.Exec(ctx, `UPDATE dishes SET cooked = cooked + 1 WHERE name = $1`, p.Dish)
	return err
}

func run(ctx context.Context, pool *pgxpool.Pool, topic string, h handler) error {
	r := kafka.NewReader(kafka.ReaderConfig{GroupID: "g", Topic: topic})
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var env envelope
		if err := json.Unmarshal(m.Value, &env); err != nil {
			return err
		}
		err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return h.Handle(ctx, tx, env.Data) })
		if err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(run(ctx, pool, "cooked", cooked{pool})) }()
	log.Fatal(run(ctx, pool, "served", served{pool}))
}
