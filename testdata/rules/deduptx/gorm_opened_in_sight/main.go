// Command main writes on the handle that it opened, and not on the transaction.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/gorm"
)

type ProcessedEvent struct {
	EventID string `gorm:"primaryKey"`
	At      time.Time
}

func (ProcessedEvent) TableName() string { return "processed_event" }

type Alert struct {
	ID     uint
	Device string
	Text   string
}

type ThresholdCrossed struct {
	EventID string `json:"event_id"`
	Device  string `json:"device"`
	Value   int    `json:"value"`
}

type Alerts struct {
	db *gorm.DB
}

func NewAlerts(db *gorm.DB) *Alerts {
	return &Alerts{db: db}
}

func (a *Alerts) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt ThresholdCrossed
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	return a.db.Transaction(func(tx *gorm.DB) error {
		isNew, err := mark(tx, evt.EventID)
		if err != nil {
			return err
		}
		if !isNew {
			return nil
		}
		return a.db.WithContext(ctx).Create(&Alert{Device: evt.Device, Text: fmt.Sprintf("threshold crossed: %d", evt.Value)}).Error // want R-KFK-IDEM-3
	})
}

func dialector() gorm.Dialector { return nil }

func main() {
	ctx := context.Background()
	db, err := gorm.Open(dialector(), &gorm.Config{})
	if err != nil {
		log.Fatal(err)
	}
	alerts := NewAlerts(db)
	cl, err := kgo.NewClient(kgo.ConsumerGroup("alerts"), kgo.ConsumeTopics("threshold.crossed"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	for {
		fs := cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			log.Fatal(err)
		}
		for _, rec := range fs.Records() {
			if err := alerts.Handle(ctx, rec); err != nil {
				log.Fatal(err)
			}
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
