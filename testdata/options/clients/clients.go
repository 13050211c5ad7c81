package clients

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/options/bus"
)

type Desk struct {
	Pool *pgxpool.Pool
	Line bus.Line
}

func (d *Desk) attached(ctx context.Context, o bus.Order) error { // want R-KFK-IDEM-X1
	_, err := d.Pool.Exec(ctx, "UPDATE account SET points = points + $1", o.Total)
	return err
}

func (d *Desk) Attach() { d.Line.Attach("orders", d.attached) }

func (d *Desk) Early(ctx context.Context, rec *kgo.Record) error {
	if err := d.Line.Settle(rec); err != nil { // want R-KFK-IDEM-3
		return err
	}
	_, err := d.Pool.Exec(ctx, "INSERT INTO shipment (event_id, body) VALUES ($1, $2) ON CONFLICT (event_id) DO NOTHING", rec.Key, rec.Value)
	return err
}
