package handlers

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/options/bus"
)

type Desk struct{ Pool *pgxpool.Pool }

func (d *Desk) Deliver(ctx context.Context, o bus.Order) error { // want R-KFK-IDEM-X1
	_, err := d.Pool.Exec(ctx, "UPDATE account SET points = points + $1", o.Total)
	return err
}

func (d *Desk) Cancelled(ctx context.Context, o bus.Order) error { // want R-KFK-IDEM-X1
	_, err := d.Pool.Exec(ctx, "UPDATE account SET points = points - $1", o.Total)
	return err
}

func Serve(d *Desk, run func(bus.Receiver)) { run(d) }
