// Package seals remembers its events in a sync.Map.
package seals

import (
	"context"
	"database/sql"
	"encoding/json"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Broken struct {
	ID   string `json:"id"`
	Seal string `json:"seal"`
}

type Guard struct {
	db   *sql.DB
	seen sync.Map
}

func (g *Guard) On(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Broken
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	if _, dup := g.seen.LoadOrStore(e.ID, struct{}{}); dup {
		return nil
	}
	_, err := g.db.ExecContext(ctx, `INSERT INTO alarms (seal) VALUES ($1)`, e.Seal)
	return err
}

// ByOffset remembers the place of a record instead.
func (g *Guard) ByOffset(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Broken
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	if _, dup := g.seen.Load(rec.Offset); dup { // want R-KFK-IDEM-X2
		return nil
	}
	g.seen.Store(rec.Offset, true)
	_, err := g.db.ExecContext(ctx, `INSERT INTO alarms (seal) VALUES ($1)`, e.Seal)
	return err
}
