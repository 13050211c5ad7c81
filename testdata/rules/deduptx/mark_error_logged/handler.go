// Package badges hands out badges. Whatever goes wrong with the mark is logged, and the event counts as a duplicate.
package badges

import (
	"encoding/json"
	"log"

	"github.com/ThreeDotsLabs/watermill/message"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type BadgeEarned struct {
	EventID string `json:"event_id"`
	UserID  int64  `json:"user_id"`
}

type ProcessedEvent struct {
	EventID string `gorm:"primaryKey"`
}

func (ProcessedEvent) TableName() string { return "processed_event" }

type Badge struct {
	UserID int64
}

type Handler struct {
	db *gorm.DB
}

func Register(r *message.Router, sub message.Subscriber, h *Handler) {
	r.AddNoPublisherHandler("badges", "badge.earned", sub, h.Handle)
}

func (h *Handler) Handle(msg *message.Message) error {
	var evt BadgeEarned
	if err := json.Unmarshal(msg.Payload, &evt); err != nil {
		return err
	}
	return h.db.Transaction(func(tx *gorm.DB) error {
		mark := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&ProcessedEvent{EventID: evt.EventID}) // want R-KFK-IDEM-3
		if mark.Error != nil {
			log.Println("badge", mark.Error)
			return nil
		}
		if mark.RowsAffected == 0 {
			return nil
		}
		return tx.Create(&Badge{UserID: evt.UserID}).Error
	})
}
