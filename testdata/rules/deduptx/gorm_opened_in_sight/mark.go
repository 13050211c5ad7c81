package main

import (
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

func mark(tx *gorm.DB, id string) (bool, error) {
	res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&ProcessedEvent{EventID: id, At: time.Now()})
	return res.RowsAffected == 1, res.Error
}
