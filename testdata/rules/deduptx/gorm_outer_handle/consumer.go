// Package meters bills electricity. The transaction is begun by hand, and one write forgets it.
package meters

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type MeterRead struct {
	EventID string `json:"event_id"`
	MeterID int64  `json:"meter_id"`
	KWh     int64  `json:"kwh"`
}

type ProcessedEvent struct {
	EventID string `gorm:"primaryKey"`
}

func (ProcessedEvent) TableName() string { return "processed_event" }

type Reading struct {
	MeterID int64
	KWh     int64
}

type Invoice struct {
	MeterID int64
}

type Meters struct {
	orm *gorm.DB
}

func (m *Meters) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt MeterRead
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	tx := m.orm.WithContext(ctx).Begin()
	if tx.Error != nil {
		return tx.Error
	}
	defer tx.Rollback()
	mark := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&ProcessedEvent{EventID: evt.EventID})
	if mark.Error != nil {
		return mark.Error
	}
	if mark.RowsAffected == 0 {
		return nil
	}
	if err := tx.Create(&Reading{MeterID: evt.MeterID, KWh: evt.KWh}).Error; err != nil {
		return err
	}
	if err := m.orm.WithContext(ctx).Create(&Invoice{MeterID: evt.MeterID}).Error; err != nil { // want R-KFK-IDEM-3
		return err
	}
	return tx.Commit().Error
}
