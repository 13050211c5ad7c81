// Package trams records tram delays.
package trams

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/fixtures/payloadid/helper_in_other_package/headers"
)

type TramLate struct {
	Line    int `json:"line"`
	Minutes int `json:"minutes"`
}

type Consumer struct {
	pool *pgxpool.Pool
}

func (c *Consumer) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt TramLate
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	trace := headers.Get(rec, "traceparent")
	id := headers.Get(rec, headers.ID) // want R-KFK-IDEM-1
	return pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO processed_event (event_id, trace) VALUES ($1, $2) ON CONFLICT DO NOTHING`, id, trace)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE lines SET late = late + $2 WHERE line = $1`, evt.Line, evt.Minutes)
		return err
	})
}
