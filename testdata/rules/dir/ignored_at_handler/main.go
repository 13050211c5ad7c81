// Command ignored_at_handler binds a service whose handler says why its finding is none: in both ways of running that is enough.
package main

import (
	"context"
	"database/sql"
	"log"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/dir/ignored_at_handler/claims"
	"example.com/fixtures/dir/ignored_at_handler/forest"
)

func main() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	c := &claims.Consumer{
		Reader:  kafka.NewReader(kafka.ReaderConfig{Brokers: []string{os.Getenv("BROKER")}, GroupID: "forest", Topic: "fallen"}),
		Counter: forest.New(db),
	}
	log.Fatal(c.Run(context.Background()))
}
