// Package models has types whose names say nothing, and whose tables' names say that they hold marks.
package models

import (
	"context"

	"github.com/uptrace/bun"
	"gorm.io/gorm"
)

type row struct {
	bun.BaseModel `bun:"processed_lane_events"`
	EventID       string `bun:"event_id,pk"`
}

type entry struct {
	EventID string `gorm:"primaryKey"`
}

func (*entry) TableName() string { return "processed_track_events" }

func Lane(ctx context.Context, tx bun.Tx, id string) error {
	_, err := tx.NewInsert().Model(&row{EventID: id}).
		Exec(ctx) // want R-KFK-IDEM-2
	return err
}

func Lanes(ctx context.Context, tx bun.Tx, ids []string) error {
	rows := make([]row, 0, len(ids))
	for _, id := range ids {
		rows = append(rows, row{EventID: id})
	}
	_, err := tx.NewInsert().Model(&rows).
		Exec(ctx) // want R-KFK-IDEM-2
	return err
}

func Tracks(ctx context.Context, tx *gorm.DB, ids []string) error {
	var all []*entry
	for _, id := range ids {
		all = append(all, &entry{EventID: id})
	}
	return tx.WithContext(ctx).
		CreateInBatches(all, 100).Error // want R-KFK-IDEM-2
}

func Sweep(ctx context.Context, db *bun.DB) error {
	if _, err := db.ExecContext(ctx, "DELETE FROM processed_lane_events WHERE at < now() - interval '7 days'"); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, "DELETE FROM processed_track_events WHERE at < now() - interval '7 days'")
	return err
}

// Daily sweeps once a day.
func Daily(ctx context.Context, db *bun.DB, day <-chan struct{}) error {
	for range day {
		if err := Sweep(ctx, db); err != nil {
			return err
		}
	}
	return nil
}
