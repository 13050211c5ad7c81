// Command group_reader_made_elsewhere makes a reader with a group.
package main

import (
	"context"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/ackorder/group_reader_made_elsewhere/poller"
)

func newReader(topic, group string) *kafka.Reader {
	cfg := kafka.ReaderConfig{Brokers: []string{os.Getenv("BROKER")}, Topic: topic}
	cfg.GroupID = group
	return kafka.NewReader(cfg)
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE"))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(poller.New(newReader("gauges", "pressure"), pool).Run(ctx))
}
