// Package projection keeps prices in a table, and beside it in a cache whose answer nobody looks at: no mark.
package projection

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kgo"
)

type price struct {
	SKU   string `json:"sku"`
	Cents int64  `json:"cents"`
}

// Prices is the projection.
type Prices struct {
	pool  *pgxpool.Pool
	cache *redis.Client
}

// Run applies prices as they come.
func (p *Prices) Run(ctx context.Context, cl *kgo.Client) error {
	for {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for rec := range fetches.RecordsAll() {
			if err := p.apply(ctx, rec); err != nil {
				return err
			}
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (p *Prices) apply(ctx context.Context, rec *kgo.Record) error {
	var e price
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return nil
	}
	if _, err := p.pool.Exec(ctx, `INSERT INTO prices (sku, cents) VALUES ($1, $2)
		ON CONFLICT (sku) DO UPDATE SET cents = EXCLUDED.cents`, e.SKU, e.Cents); err != nil {
		return err
	}
	if err := p.cache.HSetNX(ctx, "prices", e.SKU, e.Cents).Err(); err != nil {
		slog.WarnContext(ctx, "price not cached", "sku", e.SKU, "err", err)
		return nil
	}
	return nil
}
