// Package meters books meter readings. The violation has aborted the transaction by the time it is looked at: the commit
// fails, and the duplicate comes back for ever.
package meters

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Read struct {
	EventID string `json:"event_id"`
	Meter   string `json:"meter"`
	KWh     int64  `json:"kwh"`
}

type Booker struct{ pool *pgxpool.Pool }

func (b *Booker) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt Read
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx,
			`INSERT INTO processed_meter_events (event_id) VALUES ($1)`, evt.EventID); err != nil { // want R-KFK-IDEM-2
			if isDuplicate(err) {
				return nil
			}
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE meters SET kwh = kwh + $2 WHERE id = $1`, evt.Meter, evt.KWh)
		return err
	})
}

func isDuplicate(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == "23505"
}

func (b *Booker) Run(ctx context.Context, client *kgo.Client) error {
	if _, err := b.pool.Exec(ctx, `DELETE FROM processed_meter_events WHERE processed_at < now() - interval '9 days'`); err != nil {
		return err
	}
	for {
		for _, rec := range client.PollFetches(ctx).Records() {
			if err := b.Handle(ctx, rec); err != nil {
				return err
			}
			if err := client.CommitRecords(ctx, rec); err != nil {
				return err
			}
		}
	}
}
