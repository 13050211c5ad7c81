// Package shop reads with a reader that it is given.
package shop

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/segmentio/kafka-go"
)

type PriceSet struct {
	Article string `json:"article"`
	Cents   int64  `json:"cents"`
}

type Prices struct {
	reader *kafka.Reader
	db     *sql.DB
}

func NewPrices(reader *kafka.Reader, db *sql.DB) *Prices { return &Prices{reader: reader, db: db} }

func (p *Prices) Run(ctx context.Context) error {
	for {
		m, err := p.reader.ReadMessage(ctx) // want-alone R-KFK-IDEM-3
		if err != nil {
			return err
		}
		var e PriceSet
		if err := json.Unmarshal(m.Value, &e); err != nil {
			return err
		}
		if _, err := p.db.ExecContext(ctx, `INSERT INTO prices (article, cents) VALUES ($1, $2) ON CONFLICT (article) DO UPDATE SET cents = excluded.cents`, e.Article, e.Cents); err != nil {
			return err
		}
	}
}
