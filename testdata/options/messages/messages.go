package messages

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/options/bus"
)

type Desk struct{ Pool *pgxpool.Pool }

func (d *Desk) Take(ctx context.Context, p bus.Parcel) error { // want R-KFK-IDEM-X1
	_, err := d.Pool.Exec(ctx, "INSERT INTO parcel (body) VALUES ($1)", p.Body)
	return err
}

func dedupKey(p bus.Parcel) string {
	return fmt.Sprintf("parcel-%d", p.Offset) // want R-KFK-IDEM-X2
}
