// Package models names its tables where they are declared, and elsewhere than by the types' names.
package models

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/uptrace/bun"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

// A rinseInbox is a mark; its table is cleaned below under its own name.
type rinseInbox struct {
	bun.BaseModel `bun:"table:consumed_rinses,alias:cr"`
	EventID       string `bun:"event_id,pk"`
}

// A letterInbox is what a user has got, and no mark at all.
type letterInbox struct {
	bun.BaseModel `bun:"table:letters"`
	UserID        string
	MessageID     string
}

// A dryInbox is one of a cleaned table, too.
type dryInbox struct {
	EventID string `gorm:"primaryKey"`
}

func (dryInbox) TableName() string { return "consumed_dries" }

type wash struct {
	EventID string `json:"event_id"`
	Machine string `json:"machine"`
}

func Rinse(ctx context.Context, db *bun.DB, rec *kgo.Record) error {
	var e wash
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewInsert().Model(&rinseInbox{EventID: e.EventID}).On("CONFLICT DO NOTHING").Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		_, err = tx.NewUpdate().TableExpr("machines AS m").Set("rinses = rinses + 1").Where("m.id = ?", e.Machine).Exec(ctx)
		return err
	})
}

func Dry(ctx context.Context, db *gorm.DB, rec *kgo.Record) error {
	var e wash
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	return db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&[]dryInbox{{EventID: e.EventID}})
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return tx.Exec("UPDATE machines SET dries = dries + 1 WHERE id = ?", e.Machine).Error
	})
}

func Deliver(ctx context.Context, db *bun.DB, user, message string) error {
	_, err := db.NewInsert().Model(&letterInbox{UserID: user, MessageID: message}).Exec(ctx)
	return err
}

func DeliverAll(ctx context.Context, db *bun.DB, all []letterInbox) error {
	_, err := db.NewInsert().Model(&all).Exec(ctx)
	return err
}

// Forward puts what is a mark by its type's name into another table.
func Forward(ctx context.Context, db *bun.DB, m rinseInbox) error {
	_, err := db.NewInsert().Model(&m).ModelTableExpr("rinse_history").Exec(ctx)
	return err
}

func Sweep(ctx context.Context, db *bun.DB) error {
	for _, table := range []string{"consumed_rinses", "consumed_dries"} {
		if _, err := db.ExecContext(ctx, "DELETE FROM "+table+" WHERE at < now() - interval '7 days'"); err != nil {
			return err
		}
	}
	return nil
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
