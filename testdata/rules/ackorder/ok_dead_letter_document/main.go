// Command main keeps what failed as a document and goes on.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

type event struct {
	ID    string `json:"id"`
	Track string `json:"track"`
}

type svc struct {
	pool *pgxpool.Pool
	dead *mongo.Collection
	cl   *kgo.Client
}

func (s *svc) handle(ctx context.Context, rec *kgo.Record) error {
	var e event
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return s.bury(ctx, rec, err)
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, e.ID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE tracks SET plays = plays + 1 WHERE id = $1`, e.Track)
		return err
	})
	if err != nil {
		return s.bury(ctx, rec, err)
	}
	return nil
}

type letter struct {
	Topic string
	Body  []byte
	Cause string
}

func (s *svc) bury(ctx context.Context, rec *kgo.Record, cause error) error {
	_, err := s.dead.InsertOne(ctx, letter{rec.Topic, rec.Value, cause.Error()})
	return err
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	client, err := mongo.Connect()
	if err != nil {
		log.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	s := &svc{pool: pool, dead: client.Database("a").Collection("dead_letters"), cl: cl}
	for {
		fs := cl.PollFetches(ctx)
		if fs.IsClientClosed() {
			return
		}
		for _, rec := range fs.Records() {
			if err := s.handle(ctx, rec); err != nil {
				log.Fatal(err)
			}
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
