// Command main keeps what it cannot process in a table, by its place in the log.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type watered struct {
	EventID string `json:"event_id"`
	Bed     string `json:"bed"`
	Litres  int    `json:"litres"`
}

var errPoison = errors.New("poison")

type worker struct {
	pool *pgxpool.Pool
	cl   *kgo.Client
}

func (w *worker) apply(ctx context.Context, rec *kgo.Record) error {
	var e watered
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return fmt.Errorf("%w: %w", errPoison, err)
	}
	return pgx.BeginFunc(ctx, w.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT (event_id) DO NOTHING`, e.EventID)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return nil
		}
		_, err = tx.Exec(ctx, `UPDATE beds SET litres = litres + $2 WHERE id = $1`, e.Bed, e.Litres)
		return err
	})
}

func (w *worker) bury(ctx context.Context, rec *kgo.Record, cause error) error {
	_, err := w.pool.Exec(ctx, `INSERT INTO dead_letters (topic, part, pos, body, cause) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (topic, part, pos) DO NOTHING`, rec.Topic, rec.Partition, rec.Offset, rec.Value, cause.Error())
	return err
}

func (w *worker) handle(ctx context.Context, rec *kgo.Record) error {
	var err error
	for range 5 {
		if err = w.apply(ctx, rec); err == nil {
			return nil
		}
		if errors.Is(err, errPoison) {
			break
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return w.bury(ctx, rec, err)
}

func (w *worker) run(ctx context.Context) error {
	for {
		fs := w.cl.PollRecords(ctx, 100)
		if fs.IsClientClosed() {
			return nil
		}
		var failed error
		fs.EachRecord(func(rec *kgo.Record) {
			if failed != nil {
				return
			}
			if failed = w.handle(ctx, rec); failed == nil {
				w.cl.MarkCommitRecords(rec)
			}
		})
		if failed != nil {
			return failed
		}
	}
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.ConsumerGroup("beds"), kgo.ConsumeTopics("watered"), kgo.AutoCommitMarks())
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal((&worker{pool, cl}).run(ctx))
}
