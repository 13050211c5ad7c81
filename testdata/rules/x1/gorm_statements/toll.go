// Package toll keeps its books with GORM.
package toll

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

type Passed struct {
	EventID string `json:"event_id"`
	Plate   string `json:"plate"`
	Gate    string `json:"gate"`
	Cents   int64  `json:"cents"`
}

func decode(rec *kgo.Record) (e Passed, err error) {
	err = json.Unmarshal(rec.Value, &e)
	return e, err
}

type Car struct {
	ID     uint
	Plate  string
	Cents  int64
	Status string
	Gate   string
}

type ProcessedPassage struct {
	EventID string `gorm:"primaryKey"`
}

func (ProcessedPassage) TableName() string { return "processed_passage_events" }

type Toll struct{ db *gorm.DB }

// Prune keeps the marks small.
func (t *Toll) Prune(ctx context.Context) error {
	return t.db.WithContext(ctx).Exec("DELETE FROM processed_passage_events WHERE processed_at < now() - interval '30 days'").Error
}

func Main(ctx context.Context, t *Toll) { go t.Prune(ctx) }

// RawInsert adds a row each time.
func (t *Toll) RawInsert(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var id int64
	return t.db.WithContext(ctx).Raw("INSERT INTO passages (plate, cents) VALUES (?, ?) RETURNING id", e.Plate, e.Cents).Scan(&id).Error
}

// RawMark tells a repeat by the row that RETURNING does not give.
func (t *Toll) RawMark(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return t.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var id string
		res := tx.Raw("INSERT INTO processed_passage_events (event_id) VALUES (?) ON CONFLICT DO NOTHING RETURNING event_id", e.EventID).Scan(&id)
		if res.Error != nil {
			return res.Error
		}
		if res.RowsAffected == 0 {
			return nil
		}
		return tx.Model(&Car{}).Where("plate = ?", e.Plate).UpdateColumn("cents", gorm.Expr("cents + ?", e.Cents)).Error
	})
}

// Count adds in the database.
func (t *Toll) Count(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return t.db.Session(&gorm.Session{PrepareStmt: true}).WithContext(ctx).Model(&Car{}).Where("plate = ?", e.Plate).
		Updates(map[string]any{"gate": e.Gate, "cents": gorm.Expr("cents + ?", e.Cents)}).Error
}

// Set sets.
func (t *Toll) Set(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return t.db.WithContext(ctx).Model(&Car{}).Where("plate = ?", e.Plate).Updates(map[string]any{"gate": e.Gate, "status": "in"}).Error
}

// ReadAdd adds in the program.
func (t *Toll) ReadAdd(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var c Car
	if err := t.db.WithContext(ctx).Clauses(clause.Locking{Strength: "UPDATE"}).First(&c, "plate = ?", e.Plate).Error; err != nil {
		return err
	}
	c.Cents += e.Cents
	return t.db.WithContext(ctx).Save(&c).Error
}

// ReadMove changes what it has read to what the event says.
func (t *Toll) ReadMove(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var c Car
	if err := t.db.WithContext(ctx).Where(&Car{Plate: e.Plate}).First(&c).Error; err != nil {
		return err
	}
	c.Gate = e.Gate
	return t.db.WithContext(ctx).Save(&c).Error
}

// Leave leaves the state that it asks for.
func (t *Toll) Leave(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return t.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Model(&Car{}).Where("plate = ? AND status = ?", e.Plate, "in").Update("status", "out")
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return tx.Create(&Car{Plate: e.Plate, Cents: e.Cents}).Error
	})
}

// Stay names a state and leaves it as it is.
func (t *Toll) Stay(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return t.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Model(&Car{}).Where("plate = ? AND status = ?", e.Plate, "in").Update("gate", e.Gate)
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return tx.Create(&Car{Plate: e.Plate, Cents: e.Cents}).Error
	})
}

// Asked turns back on the state in which it leaves the row.
func (t *Toll) Asked(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var c Car
	if err := t.db.WithContext(ctx).First(&c, "plate = ?", e.Plate).Error; err != nil {
		return err
	}
	if c.Status == "out" {
		return nil
	}
	return t.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Model(&c).Update("status", "out").Error; err != nil {
			return err
		}
		return tx.Exec("INSERT INTO trips (plate) VALUES (?)", e.Plate).Error
	})
}

// AskedOther turns back on another.
func (t *Toll) AskedOther(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	var c Car
	if err := t.db.WithContext(ctx).First(&c, "plate = ?", e.Plate).Error; err != nil {
		return err
	}
	if c.Status == "stolen" {
		return errors.New("stop")
	}
	return t.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Model(&c).Update("status", "out").Error; err != nil {
			return err
		}
		return tx.Exec("INSERT INTO trips (plate) VALUES (?)", e.Plate).Error
	})
}

// Upsert adds to the row that is there.
func (t *Toll) Upsert(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return t.db.WithContext(ctx).Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "plate"}},
		DoUpdates: clause.Assignments(map[string]any{"cents": gorm.Expr("cars.cents + ?", e.Cents)}),
	}).Create(&Car{Plate: e.Plate, Cents: e.Cents}).Error
}

// Ignore is MySQL's way of leaving the mark that is there.
func (t *Toll) Ignore(ctx context.Context, rec *kgo.Record) error {
	e, err := decode(rec)
	if err != nil {
		return err
	}
	return t.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		res := tx.Clauses(clause.Insert{Modifier: "IGNORE"}).Create(&ProcessedPassage{EventID: e.EventID})
		if res.Error != nil || res.RowsAffected == 0 {
			return res.Error
		}
		return tx.Create(&Car{Plate: e.Plate, Cents: e.Cents}).Error
	})
}
