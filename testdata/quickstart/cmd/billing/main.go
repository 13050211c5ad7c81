// Command billing keeps the ledger of a shop. It is here to be linted: three mistakes that service code makes with
// Kafka stand in it, beside code that does the same right.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/billing/consumer"
	"example.com/billing/event"
	"example.com/billing/publisher"
	"example.com/billing/repository"
	"example.com/billing/service"
)

// fee is what an invoice is about, in minor units.
const fee = 4900

// remembered is how long an event can come again: the longest retention of a topic that billing reads.
const remembered = 14 * 24 * time.Hour

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, args []string) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(os.Getenv("KAFKA_BROKERS"), ",")...),
		kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics(event.TopicPaymentCaptured, event.TopicRefundApproved, event.TopicInvoiceIssued),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return fmt.Errorf("make Kafka client: %w", err)
	}
	defer client.Close()
	if len(args) == 2 && args[0] == "cancel" {
		return publisher.New(client).InvoiceCancelled(ctx, args[1])
	}
	if len(args) == 3 && args[0] == "issue" {
		return publisher.New(client).InvoiceIssued(ctx, args[1], args[2], fee)
	}

	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer pool.Close()
	ledger := repository.New(pool)
	go forget(ctx, ledger)
	return consumer.New(client, service.New(ledger)).Run(ctx)
}

// forget removes old marks once an hour until ctx ends.
func forget(ctx context.Context, ledger *repository.Ledger) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := ledger.ForgetProcessed(ctx, time.Now().Add(-remembered)); err != nil {
				log.Print(err)
			}
		}
	}
}
