// Command layered binds the implementation to the interface: package by package the finding stands here.
package main

import (
	"context"
	"database/sql"
	"log"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/x1/layered/consumer"
	"example.com/fixtures/x1/layered/rooms"
)

func main() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{os.Getenv("BROKER")}, GroupID: "rooms", Topic: "reservations"})
	store := rooms.New(db)
	c := consumer.New(r, store) // want-vet R-KFK-IDEM-X1
	log.Fatal(c.Run(context.Background()))
}
