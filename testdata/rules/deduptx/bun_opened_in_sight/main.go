// Command main writes with bun on the handle that it opened.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/uptrace/bun"
)

type Crossed struct {
	EventID string `json:"event_id"`
	Device  string `json:"device"`
}

type Alerts struct{ db *bun.DB }

func NewAlerts(db *bun.DB) *Alerts { return &Alerts{db: db} }

func (a *Alerts) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt Crossed
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return a.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewInsert().Model(&processed{EventID: evt.EventID}).On("CONFLICT DO NOTHING").Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		_, err = a.db.NewInsert().Model(&alert{Device: evt.Device}).Exec(ctx) // want R-KFK-IDEM-3
		return err
	})
}

type processed struct {
	bun.BaseModel `bun:"table:processed_event"`
	EventID       string `bun:",pk"`
}

type alert struct {
	bun.BaseModel `bun:"table:alerts"`
	Device        string
}

func main() {
	ctx := context.Background()
	db, err := sql.Open("postgres", "x")
	if err != nil {
		log.Fatal(err)
	}
	bdb := bun.NewDB(db, nil)
	alerts := NewAlerts(bdb)
	cl, err := kgo.NewClient(kgo.ConsumerGroup("alerts"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	for {
		for _, rec := range cl.PollFetches(ctx).Records() {
			if err := alerts.Handle(ctx, rec); err != nil {
				log.Fatal(err)
			}
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
