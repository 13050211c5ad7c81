// Package stairs has models of bun's, which name their tables in a tag.
package stairs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/uptrace/bun"
)

type Climbed struct {
	EventID string `json:"event_id"`
	Stair   string `json:"stair"`
}

type inboxRow struct {
	bun.BaseModel `bun:"table:processed_stair_events,alias:p"`

	EventID     string    `bun:"event_id,pk"`
	ProcessedAt time.Time `bun:"processed_at"`
}

type House struct{ db *bun.DB }

func (h *House) On(ctx context.Context, rec *kgo.Record) error {
	var e Climbed
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	return h.db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		res, err := tx.NewInsert().Model(&inboxRow{EventID: e.EventID}).On("CONFLICT DO NOTHING").Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		_, err = tx.NewUpdate().Table("stairs").Set("climbed = climbed + 1").Where("name = ?", e.Stair).Exec(ctx)
		return err
	})
}

func (h *House) Sweep(ctx context.Context) error {
	_, err := h.db.ExecContext(ctx, `DELETE FROM processed_stair_events WHERE processed_at < now() - interval '30 days'`)
	return err
}

func Main(ctx context.Context, h *House) { go h.Sweep(ctx) }
