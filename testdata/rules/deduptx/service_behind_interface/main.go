// Command service_behind_interface binds the service to the consumer.
package main

import (
	"context"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/fixtures/deduptx/service_behind_interface/bus"
	"example.com/fixtures/deduptx/service_behind_interface/dining"
)

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://localhost/dining")
	if err != nil {
		log.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.ConsumeTopics("tables.reserved"), kgo.ConsumerGroup("dining"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	c := &bus.Consumer{Client: cl, Svc: &dining.Service{Pool: pool}} // want-vet R-KFK-IDEM-3
	log.Fatal(c.Run(ctx))
}
