package main

import (
	"context"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/fixtures/r1/outbox_relay_layered/bus"
	"example.com/fixtures/r1/outbox_relay_layered/relay"
	"example.com/fixtures/r1/outbox_relay_layered/store"
)

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	cl, err := kgo.NewClient()
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(relay.New(store.New(pool), bus.New(cl)).Once(ctx))
}
