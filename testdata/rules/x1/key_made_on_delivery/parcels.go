// Package parcels handles unique violations; whether a repeat can meet one, the key decides.
package parcels

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Scanned struct {
	Parcel string `json:"parcel_id"`
	Weight int    `json:"weight"`
}

type Depot struct{ pool *pgxpool.Pool }

func taken(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

// Weigh keeps its rows under ids that are new each time: none is ever taken.
func (d *Depot) Weigh(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var e Scanned
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	_, err := d.pool.Exec(ctx, `INSERT INTO weighings (id, weight, body) VALUES ($1, $2, $3)`, uuid.New(), e.Weight, rec.Value)
	if taken(err) {
		return nil
	}
	return err
}

// Admit has such an id, too, but the parcel's own number beside it.
func (d *Depot) Admit(ctx context.Context, rec *kgo.Record) error {
	var e Scanned
	if err := json.Unmarshal(rec.Value, &e); err != nil {
		return err
	}
	_, err := d.pool.Exec(ctx, `INSERT INTO admissions (id, parcel_id, weight) VALUES ($1, $2, $3)`, uuid.New(), e.Parcel, e.Weight)
	if taken(err) {
		return nil
	}
	return err
}
