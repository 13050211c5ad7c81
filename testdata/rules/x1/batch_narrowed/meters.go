// Package meters narrows its batches by something else than the marks, or not before it writes.
package meters

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type reading struct {
	EventID string `json:"event_id"`
	Meter   string `json:"meter"`
	Units   int64  `json:"units"`
}

func decode(recs []*kgo.Record) []reading {
	out := make([]reading, 0, len(recs))
	for _, rec := range recs {
		var r reading
		if json.Unmarshal(rec.Value, &r) == nil {
			out = append(out, r)
		}
	}
	return out
}

func mark(ctx context.Context, tx pgx.Tx, all []reading) (map[string]bool, error) {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.EventID
	}
	rows, err := tx.Query(ctx, `INSERT INTO received_messages (message_id) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING RETURNING message_id`, ids)
	if err != nil {
		return nil, err
	}
	set := make(map[string]bool)
	var id string
	_, err = pgx.ForEachRow(rows, []any{&id}, func() error { set[id] = true; return nil })
	return set, err
}

const add = `UPDATE meters SET units = units + $2 WHERE id = $1`

func ByAmount(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all := decode(recs)
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := mark(ctx, tx, all); err != nil {
			return err
		}
		for _, r := range slices.DeleteFunc(all, func(r reading) bool { return r.Units == 0 }) {
			if _, err := tx.Exec(ctx, add, r.Meter, r.Units); err != nil {
				return err
			}
		}
		return nil
	})
}

// TheWrongOnes keeps what was there.
func TheWrongOnes(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all := decode(recs)
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		set, err := mark(ctx, tx, all)
		if err != nil {
			return err
		}
		for _, r := range slices.DeleteFunc(all, func(r reading) bool { return set[r.EventID] }) {
			if _, err := tx.Exec(ctx, add, r.Meter, r.Units); err != nil {
				return err
			}
		}
		return nil
	})
}

// TotalsOfAll sums before it knows.
func TotalsOfAll(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all := decode(recs)
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		totals := make(map[string]int64)
		for _, r := range all {
			totals[r.Meter] += r.Units
		}
		if _, err := mark(ctx, tx, all); err != nil {
			return err
		}
		for meter, units := range maps.All(totals) {
			if _, err := tx.Exec(ctx, add, meter, units); err != nil {
				return err
			}
		}
		return nil
	})
}

// CopyOfAll copies the batch as it came.
func CopyOfAll(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all := decode(recs)
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := mark(ctx, tx, all); err != nil {
			return err
		}
		rows := make([][]any, 0, len(all))
		for _, r := range all {
			rows = append(rows, []any{r.Meter, r.Units})
		}
		_, err := tx.CopyFrom(ctx, pgx.Identifier{"readings"}, []string{"meter", "units"}, pgx.CopyFromRows(rows))
		return err
	})
}

// Sum keeps a sum for the batch, of which it does not matter what is in it.
func Sum(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all := decode(recs)
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		set, err := mark(ctx, tx, all)
		if err != nil {
			return err
		}
		fresh := slices.DeleteFunc(all, func(r reading) bool { return !set[r.EventID] })
		_, err = tx.Exec(ctx, `INSERT INTO batches (readings) VALUES ($1)`, len(fresh))
		return err
	})
}

func Sweep(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `DELETE FROM received_messages WHERE at < now() - interval '7 days'`)
	return err
}

// SomeAreNew takes the whole batch for new when something in it is.
func SomeAreNew(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all := decode(recs)
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		set, err := mark(ctx, tx, all)
		if err != nil {
			return err
		}
		if len(set) == 0 {
			return nil
		}
		for _, r := range all {
			if _, err := tx.Exec(ctx, add, r.Meter, r.Units); err != nil {
				return err
			}
		}
		return nil
	})
}

// AnyIsNew does so by the number of marks.
func AnyIsNew(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all := decode(recs)
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		ids := make([]string, len(all))
		for i, r := range all {
			ids[i] = r.EventID
		}
		tag, err := tx.Exec(ctx, `INSERT INTO received_messages (message_id) SELECT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING`, ids)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		for _, r := range all {
			if _, err := tx.Exec(ctx, add, r.Meter, r.Units); err != nil {
				return err
			}
		}
		return nil
	})
}
