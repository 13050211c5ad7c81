// Command layered binds the bank to the listener: package by package the finding stands here.
package main

import (
	"context"
	"database/sql"
	"log"
	"net/http"
	"os"

	"github.com/IBM/sarama"
	_ "github.com/jackc/pgx/v5/stdlib"

	"example.com/fixtures/r4/layered/bank"
	"example.com/fixtures/r4/layered/listener"
)

func main() {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	group, err := sarama.NewConsumerGroup([]string{os.Getenv("BROKER")}, "invoices", sarama.NewConfig())
	if err != nil {
		log.Fatal(err)
	}
	l := &listener.Listener{DB: db, Cashier: bank.New(os.Getenv("BANK"), http.DefaultClient)} // want-vet R-KFK-IDEM-4
	log.Fatal(group.Consume(context.Background(), []string{"invoices"}, l))
}
