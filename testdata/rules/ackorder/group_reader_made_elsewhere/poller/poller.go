// Package poller stores what a reader reads. Whether reading commits depends on the reader.
package poller

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type GaugeRead struct {
	Gauge string `json:"gauge"`
	Bar   int    `json:"bar"`
}

// Source is what messages are read from.
type Source interface {
	ReadMessage(ctx context.Context) (kafka.Message, error)
}

type Poller struct {
	src  Source
	pool *pgxpool.Pool
}

func New(src Source, pool *pgxpool.Pool) *Poller { return &Poller{src: src, pool: pool} }

func (p *Poller) Run(ctx context.Context) error {
	for {
		msg, err := p.src.ReadMessage(ctx) // want-alone R-KFK-IDEM-3
		if err != nil {
			return err
		}
		var evt GaugeRead
		if err := json.Unmarshal(msg.Value, &evt); err != nil {
			return err
		}
		if _, err := p.pool.Exec(ctx, `INSERT INTO gauges (id, bar) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET bar = excluded.bar`, evt.Gauge, evt.Bar); err != nil {
			return err
		}
	}
}
