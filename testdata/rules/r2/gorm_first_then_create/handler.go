// Package stamps looks with First and creates with a clause whose outcome it drops, through a repository.
package stamps

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// SeenEvent is a mark.
type SeenEvent struct {
	EventID string `gorm:"primaryKey"`
	SeenAt  time.Time
}

func (SeenEvent) TableName() string { return "seen_stamp_events" }

// Stamp is a stamp.
type Stamp struct {
	ID     int64
	Holder string
}

type repo struct{ db *gorm.DB }

func (r repo) known(id string) (bool, error) {
	var e SeenEvent
	err := r.db.First(&e, "event_id = ?", id).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (r repo) save(id string) error {
	return r.db.Clauses(clause.OnConflict{DoNothing: true}).Create(&SeenEvent{EventID: id, SeenAt: time.Now()}).Error // want R-KFK-IDEM-2
}

type given struct {
	EventID string `json:"event_id"`
	Holder  string `json:"holder"`
}

// Handle stamps a card.
func Handle(ctx context.Context, db *gorm.DB, msg kafka.Message) error {
	var evt given
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		r := repo{tx}
		known, err := r.known(evt.EventID)
		if err != nil || known {
			return err
		}
		if err := tx.Create(&Stamp{Holder: evt.Holder}).Error; err != nil {
			return err
		}
		return r.save(evt.EventID)
	})
}

// Reset forgets on start.
func Reset(db *gorm.DB) error {
	return db.Where("seen_at < ?", time.Now().AddDate(0, 0, -7)).Delete(&SeenEvent{}).Error
}
