// Package trams asks bun whether the mark is there, and inserts it when it is not: two consumers can both be told no.
package trams

import (
	"context"
	"encoding/json"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/uptrace/bun"
)

type mark struct {
	bun.BaseModel `bun:"table:processed_tram_events,alias:m"`
	EventID       string `bun:"event_id,pk"`
}

type stop struct {
	EventID string `json:"event_id"`
	Tram    string `json:"tram"`
}

func count(ctx context.Context, tx bun.Tx, s stop) error {
	_, err := tx.NewUpdate().Table("trams").Set("stops = stops + 1").Where("id = ?", s.Tram).Exec(ctx)
	return err
}

func ByExists(ctx context.Context, db *bun.DB, rec *kgo.Record) error {
	var s stop
	if err := json.Unmarshal(rec.Value, &s); err != nil {
		return err
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		there, err := tx.NewSelect().Model((*mark)(nil)).Where("event_id = ?", s.EventID).Exists(ctx)
		if err != nil || there {
			return err
		}
		if _, err := tx.NewInsert().Model(&mark{EventID: s.EventID}).On("CONFLICT DO NOTHING").
			Exec(ctx); err != nil { // want R-KFK-IDEM-2
			return err
		}
		return count(ctx, tx, s)
	})
}

func ByCount(ctx context.Context, db *bun.DB, rec *kgo.Record) error {
	var s stop
	if err := json.Unmarshal(rec.Value, &s); err != nil {
		return err
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		n, err := tx.NewSelect().Model((*mark)(nil)).Where("event_id = ?", s.EventID).Count(ctx)
		if err != nil || n > 0 {
			return err
		}
		if _, err := tx.NewInsert().Model(&mark{EventID: s.EventID}).Ignore().
			Exec(ctx); err != nil { // want R-KFK-IDEM-2
			return err
		}
		return count(ctx, tx, s)
	})
}

func Sweep(ctx context.Context, db *bun.DB) error {
	_, err := db.NewDelete().Model((*mark)(nil)).Where("at < now() - interval '7 days'").Exec(ctx)
	return err
}

func Daily(ctx context.Context, db *bun.DB, day <-chan struct{}) {
	for range day {
		_ = Sweep(ctx, db)
	}
}
