// Package store marks with GORM and updates what is there.
package store

import (
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// InboxEntry is a mark.
type InboxEntry struct {
	EventID string `gorm:"primaryKey"`
	At      time.Time
}

// Repo keeps them.
type Repo struct{ db *gorm.DB }

// Mark reports whether the event is new.
func (r *Repo) Mark(tx *gorm.DB, id string) (bool, error) {
	res := tx.
		Clauses(clause.OnConflict{UpdateAll: true}).
		Create(&InboxEntry{EventID: id, At: time.Now()}) // want R-KFK-IDEM-2
	return res.RowsAffected > 0, res.Error
}

// Trim removes old marks.
func (r *Repo) Trim(age time.Duration) error {
	return r.db.Delete(&InboxEntry{}, "at < ?", time.Now().Add(-age)).Error
}

// Start trims once a day.
func (r *Repo) Start() {
	go func() {
		for range time.Tick(24 * time.Hour) {
			if r.Trim(240*time.Hour) != nil {
				return
			}
		}
	}()
}
