// Package lots sends its statements in batches.
package lots

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Bid struct {
	EventID string `json:"event_id"`
	Lot     string `json:"lot"`
	Euros   int    `json:"euros"`
}

type Hall struct{ pool *pgxpool.Pool }

// Fresh asks each mark what it has come to.
func (h *Hall) Fresh(ctx context.Context, recs []*kgo.Record) error {
	var bids []Bid
	for _, r := range recs {
		var b Bid
		if err := json.Unmarshal(r.Value, &b); err != nil {
			return err
		}
		bids = append(bids, b)
	}
	return pgx.BeginFunc(ctx, h.pool, func(tx pgx.Tx) error {
		marks := &pgx.Batch{}
		for _, b := range bids {
			marks.Queue(`INSERT INTO processed_bid_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, b.EventID)
		}
		res := tx.SendBatch(ctx, marks)
		var fresh []Bid
		for _, b := range bids {
			tag, err := res.Exec()
			if err != nil {
				res.Close()
				return err
			}
			if tag.RowsAffected() == 1 {
				fresh = append(fresh, b)
			}
		}
		if err := res.Close(); err != nil {
			return err
		}
		for _, b := range fresh {
			if _, err := tx.Exec(ctx, `UPDATE lots SET bids = bids + 1, euros = $2 WHERE name = $1`, b.Lot, b.Euros); err != nil {
				return err
			}
		}
		return nil
	})
}

// All marks, and does not ask.
func (h *Hall) All(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var b Bid
	if err := json.Unmarshal(rec.Value, &b); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	batch.Queue(`INSERT INTO processed_bid_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, b.EventID)
	batch.Queue(`UPDATE lots SET bids = bids + 1 WHERE name = $1`, b.Lot)
	return h.pool.SendBatch(ctx, batch).Close()
}

// Sets lands on the same rows.
func (h *Hall) Sets(ctx context.Context, recs []*kgo.Record) error {
	batch := &pgx.Batch{}
	for _, r := range recs {
		var b Bid
		if err := json.Unmarshal(r.Value, &b); err != nil {
			return err
		}
		batch.Queue(`INSERT INTO last_bids (lot, euros) VALUES ($1, $2) ON CONFLICT (lot) DO UPDATE SET euros = EXCLUDED.euros`, b.Lot, b.Euros)
	}
	return h.pool.SendBatch(ctx, batch).Close()
}

// Copies adds rows in bulk.
func (h *Hall) Copies(ctx context.Context, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	var rows [][]any
	for _, r := range recs {
		rows = append(rows, []any{r.Key, r.Value})
	}
	_, err := h.pool.CopyFrom(ctx, pgx.Identifier{"bids"}, []string{"lot", "body"}, pgx.CopyFromRows(rows))
	return err
}

// Sweep keeps the marks small.
func (h *Hall) Sweep(ctx context.Context) error {
	_, err := h.pool.Exec(ctx, `DELETE FROM processed_bid_events WHERE processed_at < now() - interval '30 days'`)
	return err
}

func Main(ctx context.Context, h *Hall) { go h.Sweep(ctx) }
