// Package dye asks for the event before it hands the vat to those who fill it.
package dye

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type Vat struct {
	EventID string `json:"event_id"`
	Vat     string `json:"vat"`
	Litres  int64  `json:"litres"`
}

type Works struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	vats   chan Vat
}

func (w *Works) Start(ctx context.Context) {
	for range 3 {
		go w.fill(ctx)
	}
}

func (w *Works) Purge(ctx context.Context) error {
	_, err := w.pool.Exec(ctx, `DELETE FROM processed_events WHERE processed_at < now() - interval '30 days'`)
	return err
}

func (w *Works) Run(ctx context.Context) error {
	w.Start(ctx)
	for {
		msg, err := w.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := w.order(ctx, msg); err != nil {
			return err
		}
	}
}

func (w *Works) order(ctx context.Context, msg kafka.Message) error {
	var v Vat
	if err := json.Unmarshal(msg.Value, &v); err != nil {
		return err
	}
	tag, err := w.pool.Exec(ctx, `INSERT INTO processed_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, v.EventID)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	w.vats <- v
	return nil
}

func (w *Works) fill(ctx context.Context) {
	for v := range w.vats {
		if _, err := w.pool.Exec(ctx, `UPDATE vats SET litres = litres + $2 WHERE name = $1`, v.Vat, v.Litres); err != nil {
			slog.Error("fill", "error", err)
		}
	}
}
