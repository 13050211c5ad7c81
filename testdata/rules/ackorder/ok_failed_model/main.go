// Command main keeps what failed as a model and goes on.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type ProcessedEvent struct {
	EventID string `gorm:"primaryKey"`
}

type FailedEvent struct {
	ID     string `gorm:"primaryKey"`
	Body   []byte
	Reason string
}

type Track struct {
	ID    string `gorm:"primaryKey"`
	Plays int
}

type event struct {
	ID    string `json:"id"`
	Track string `json:"track"`
	Secs  int    `json:"secs"`
}

type svc struct {
	db *gorm.DB
	cl *kgo.Client
}

func (s *svc) handle(ctx context.Context, rec *kgo.Record) error {
	var e event
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		log.Printf("undecodable at %d: %v", rec.Offset, err)
		return nil
	}
	err := s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&ProcessedEvent{EventID: e.ID})
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		if e.Secs < 30 {
			return errors.New("too short")
		}
		return tx.Model(&Track{}).Where("id = ?", e.Track).Update("plays", gorm.Expr("plays + 1")).Error
	})
	if err == nil {
		return nil
	}
	return s.db.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&FailedEvent{ID: e.ID, Body: rec.Value, Reason: err.Error()}).Error
}

func main() {
	ctx := context.Background()
	db, err := gorm.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	s := &svc{db: db, cl: cl}
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
