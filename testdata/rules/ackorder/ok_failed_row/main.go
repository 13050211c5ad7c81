// Command main keeps what failed in a table of failures and goes on.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type svc struct {
	pool *pgxpool.Pool
	cl   *kgo.Client
}

type event struct {
	ID    string `json:"id"`
	Track string `json:"track"`
	Secs  int    `json:"secs"`
}

func (s *svc) handle(ctx context.Context, rec *kgo.Record) error {
	var e event
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		log.Printf("undecodable at %d: %v", rec.Offset, err)
		return nil
	}
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, e.ID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return s.play(ctx, tx, e)
	})
	if err == nil {
		return nil
	}
	_, err = s.pool.Exec(ctx, `INSERT INTO failed_events (id, body, failure) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, e.ID, rec.Value, err.Error())
	return err
}

func (s *svc) play(ctx context.Context, tx pgx.Tx, e event) error {
	if e.Secs < 30 {
		return errors.New("too short")
	}
	_, err := tx.Exec(ctx, `UPDATE tracks SET plays = plays + 1 WHERE id = $1`, e.Track)
	return err
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	s := &svc{pool: pool, cl: cl}
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
