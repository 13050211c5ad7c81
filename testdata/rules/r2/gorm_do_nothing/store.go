// Package store marks with GORM: the clause does nothing on a conflict, and RowsAffected decides.
package store

import (
	"context"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// ProcessedMessage is the mark of a message.
type ProcessedMessage struct {
	MessageID   string `gorm:"primaryKey"`
	ProcessedAt time.Time
}

// TableName names the table of this service alone.
func (ProcessedMessage) TableName() string { return "processed_gate_messages" }

// Mark reports whether the message is new.
func Mark(ctx context.Context, tx *gorm.DB, id string) (bool, error) {
	res := tx.WithContext(ctx).
		Clauses(clause.OnConflict{DoNothing: true}).
		Create(&ProcessedMessage{MessageID: id, ProcessedAt: time.Now()})
	return res.RowsAffected == 1, res.Error
}

// Serve runs until ctx ends; it forgets as it goes.
func Serve(ctx context.Context, db *gorm.DB) error {
	hour := time.Tick(time.Hour)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hour:
		}
		week := time.Now().AddDate(0, 0, -7)
		if err := db.WithContext(ctx).Where("processed_at < ?", week).Delete(&ProcessedMessage{}).Error; err != nil {
			return err
		}
	}
}
