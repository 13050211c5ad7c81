// Command main gathers middleware none of which checks.
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

type Handler func(ctx context.Context, tx pgx.Tx, e event) error

type Middleware func(Handler) Handler

type event struct {
	ID   string `json:"id"`
	Item string `json:"item"`
	N    int    `json:"n"`
}

func once(next Handler) Handler {
	return func(ctx context.Context, tx pgx.Tx, e event) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, e.ID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return next(ctx, tx, e)
	}
}

func logged(next Handler) Handler {
	return func(ctx context.Context, tx pgx.Tx, e event) error {
		err := next(ctx, tx, e)
		log.Printf("%s: %v", e.ID, err)
		return err
	}
}

func stock(ctx context.Context, tx pgx.Tx, e event) error { // want R-KFK-IDEM-X1
	_, err := tx.Exec(ctx, `UPDATE items SET n = n + $2 WHERE id = $1`, e.Item, e.N)
	return err
}

type service struct {
	pool *pgxpool.Pool
	base Handler
	mws  []Middleware
}

func (s *service) Use(mws ...Middleware) {
	s.mws = append(s.mws, mws...)
}

func (s *service) handler() Handler {
	h := s.base
	for i := len(s.mws) - 1; i >= 0; i-- {
		h = s.mws[i](h)
	}
	return h
}

func (s *service) on(ctx context.Context, m kafka.Message) error {
	var e event
	if err := json.Unmarshal(m.Value, &e); err != nil {
		return nil
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.handler()(ctx, tx, e) })
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	r := kafka.NewReader(kafka.ReaderConfig{GroupID: "g", Topic: "t"})
	s := &service{pool: pool, base: stock}
	s.Use(logged)
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if err := s.on(ctx, m); err != nil {
			log.Fatal(err)
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			log.Fatal(err)
		}
	}
}
