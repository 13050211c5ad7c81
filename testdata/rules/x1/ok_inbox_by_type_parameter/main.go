// Command main has its inbox as a type parameter.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Inboxer interface {
	First(ctx context.Context, tx pgx.Tx, id string) (bool, error)
}

type table struct{}

func (table) First(ctx context.Context, tx pgx.Tx, id string) (bool, error) {
	tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	return err == nil && tag.RowsAffected() == 1, err
}

type Worker[E any, I Inboxer] struct {
	pool  *pgxpool.Pool
	inbox I
	id    func(E) string
	do    func(ctx context.Context, tx pgx.Tx, e E) error
}

func (w Worker[E, I]) On(ctx context.Context, rec *kgo.Record) error {
	var e E
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		first, err := w.inbox.First(ctx, tx, w.id(e))
		if err != nil || !first {
			return err
		}
		return w.do(ctx, tx, e)
	})
}

type fed struct{ EventID, Animal string }

type fled struct{ EventID, Cage string }

func feed(ctx context.Context, tx pgx.Tx, e fed) error {
	_, err := tx.Exec(ctx, `UPDATE animals SET meals = meals + 1 WHERE name = $1`, e.Animal)
	return err
}

func flee(ctx context.Context, tx pgx.Tx, e fled) error {
	_, err := tx.Exec(ctx, `UPDATE cages SET escapes = escapes + 1 WHERE no = $1`, e.Cage)
	return err
}

type onRecord interface {
	On(ctx context.Context, rec *kgo.Record) error
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	workers := map[string]onRecord{
		"fed":  Worker[fed, table]{pool: pool, id: func(e fed) string { return e.EventID }, do: feed},
		"fled": Worker[fled, table]{pool: pool, id: func(e fled) string { return e.EventID }, do: flee},
	}
	cl, err := kgo.NewClient(kgo.ConsumerGroup("zoo"), kgo.ConsumeTopics("fed", "fled"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	for {
		fs := cl.PollFetches(ctx)
		for _, rec := range fs.Records() {
			if err := workers[rec.Topic].On(ctx, rec); err != nil {
				log.Fatal(err)
			}
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
