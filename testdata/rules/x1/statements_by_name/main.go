// Command main adds up by a statement that it prepared under a name.
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

const (
	stMark  = "mark"
	stTrip  = "trip"
	stAxles = "axles"
)

func prepare(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Prepare(ctx, stMark, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`); err != nil {
		return err
	}
	if _, err := c.Prepare(ctx, stTrip, `UPDATE cars SET trips = trips + 1 WHERE plate = $1`); err != nil {
		return err
	}
	_, err := c.Prepare(ctx, stAxles, `UPDATE gates SET axles = axles + $2 WHERE id = $1`)
	return err
}

type passed struct {
	EventID string `json:"event_id"`
	Plate   string `json:"plate"`
	Gate    string `json:"gate"`
	Axles   int    `json:"axles"`
}

type toll struct{ pool *pgxpool.Pool }

func (t *toll) onPassed(ctx context.Context, p passed) error {
	return pgx.BeginFunc(ctx, t.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, stMark, p.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, stTrip, p.Plate)
		return err
	})
}

func (t *toll) onWeighed(ctx context.Context, p passed) error { // want R-KFK-IDEM-X1
	_, err := t.pool.Exec(ctx, stAxles, p.Gate, p.Axles)
	return err
}

func on(h func(context.Context, passed) error) func(context.Context, *kgo.Record) error {
	return func(ctx context.Context, rec *kgo.Record) error {
		var p passed
		if err := json.Unmarshal(rec.Value, &p); err != nil {
			return err
		}
		return h(ctx, p)
	}
}

func main() {
	ctx := context.Background()
	cfg, err := pgxpool.ParseConfig(os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	cfg.AfterConnect = prepare
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	t := &toll{pool}
	handlers := map[string]func(context.Context, *kgo.Record) error{"passed": on(t.onPassed), "weighed": on(t.onWeighed)}
	cl, err := kgo.NewClient(kgo.ConsumerGroup("toll"), kgo.ConsumeTopics("passed", "weighed"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	for {
		fs := cl.PollFetches(ctx)
		for _, rec := range fs.Records() {
			if err := handlers[rec.Topic](ctx, rec); err != nil {
				log.Fatal(err)
			}
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
