// Package tide reads partitions in goroutines, with readers that belong to no group: reading commits nothing.
package tide

import (
	"context"
	"database/sql"
	"log"

	"github.com/segmentio/kafka-go"
)

func keep(ctx context.Context, db *sql.DB, m kafka.Message) {
	if _, err := db.ExecContext(ctx, `INSERT INTO tides (key, body) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET body = excluded.body`, m.Key, m.Value); err != nil {
		log.Print(err)
	}
}

func Follow(ctx context.Context, db *sql.DB, partition int) {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{"localhost:9092"}, Topic: "tides", Partition: partition})
	go func() {
		for {
			m, err := reader.ReadMessage(ctx)
			if err != nil {
				return
			}
			keep(ctx, db, m)
		}
	}()
}

type Gauges struct {
	readers []*kafka.Reader
	db      *sql.DB
}

func NewGauges(db *sql.DB, partitions int) *Gauges {
	g := &Gauges{db: db}
	for i := range partitions {
		g.readers = append(g.readers, kafka.NewReader(kafka.ReaderConfig{Brokers: []string{"localhost:9092"}, Topic: "gauges", Partition: i}))
	}
	return g
}

func (g *Gauges) Start(ctx context.Context) {
	for _, r := range g.readers {
		go func() {
			for {
				m, err := r.ReadMessage(ctx)
				if err != nil {
					return
				}
				keep(ctx, g.db, m)
			}
		}()
	}
}
