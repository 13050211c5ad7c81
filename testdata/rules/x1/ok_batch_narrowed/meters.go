// Package meters books readings in batches: what the mark's RETURNING does not name is left out before anything is
// written, in the ways in which such code does it.
package meters

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/samber/lo"
	"github.com/twmb/franz-go/pkg/kgo"
	"gorm.io/gorm"
)

type reading struct {
	EventID string `json:"event_id"`
	Meter   string `json:"meter"`
	Units   int64  `json:"units"`
}

type Book struct {
	pool *pgxpool.Pool
	orm  *gorm.DB
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

// mark returns the ids that were not there.
func mark(ctx context.Context, tx pgx.Tx, all []reading) ([]string, error) {
	ids := make([]string, len(all))
	for i, r := range all {
		ids[i] = r.EventID
	}
	rows, err := tx.Query(ctx, `INSERT INTO received_messages (message_id) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING RETURNING message_id`, ids)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func markSet(ctx context.Context, tx pgx.Tx, all []reading) (map[string]bool, error) {
	ids, err := mark(ctx, tx, all)
	set := make(map[string]bool)
	for _, id := range ids {
		set[id] = true
	}
	return set, err
}

const add = `UPDATE meters SET units = units + $2 WHERE id = $1`

func (b *Book) ByDeleteFunc(ctx context.Context, recs []*kgo.Record) error {
	all := decode(recs)
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		set, err := markSet(ctx, tx, all)
		if err != nil {
			return err
		}
		known := func(r reading) bool { return !set[r.EventID] }
		for _, r := range slices.DeleteFunc(all, known) {
			if _, err := tx.Exec(ctx, add, r.Meter, r.Units); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *Book) ByMap(ctx context.Context, recs []*kgo.Record) error {
	all := make(map[string]reading)
	for _, r := range decode(recs) {
		all[r.EventID] = r
	}
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		set, err := markSet(ctx, tx, slices.Collect(maps.Values(all)))
		if err != nil {
			return err
		}
		maps.DeleteFunc(all, func(id string, _ reading) bool { return !set[id] })
		for _, r := range all {
			if _, err := tx.Exec(ctx, add, r.Meter, r.Units); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *Book) ByDelete(ctx context.Context, recs []*kgo.Record) error {
	all := decode(recs)
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		ids, err := mark(ctx, tx, all)
		if err != nil {
			return err
		}
		for _, r := range all {
			if !slices.Contains(ids, r.EventID) {
				continue
			}
			if _, err := tx.Exec(ctx, add, r.Meter, r.Units); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *Book) ByTotals(ctx context.Context, recs []*kgo.Record) error {
	all := decode(recs)
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		set, err := markSet(ctx, tx, all)
		if err != nil {
			return err
		}
		totals := make(map[string]int64)
		for _, r := range all {
			if set[r.EventID] {
				totals[r.Meter] += r.Units
			}
		}
		for _, meter := range slices.Sorted(maps.Keys(totals)) {
			if _, err := tx.Exec(ctx, add, meter, totals[meter]); err != nil {
				return err
			}
		}
		for meter, units := range maps.All(totals) {
			if _, err := tx.Exec(ctx, add, meter, units); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *Book) ByCopy(ctx context.Context, recs []*kgo.Record) error {
	all := decode(recs)
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		set, err := markSet(ctx, tx, all)
		if err != nil {
			return err
		}
		var rows [][]any
		for _, r := range all {
			if set[r.EventID] {
				rows = append(rows, []any{r.Meter, r.Units})
			}
		}
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"readings"}, []string{"meter", "units"}, pgx.CopyFromRows(rows))
		return err
	})
}

func (b *Book) ByCopySlice(ctx context.Context, recs []*kgo.Record) error {
	all := decode(recs)
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		set, err := markSet(ctx, tx, all)
		if err != nil {
			return err
		}
		fresh := lo.Filter(all, func(r reading, _ int) bool { return set[r.EventID] })
		_, err = tx.CopyFrom(ctx, pgx.Identifier{"readings"}, []string{"meter", "units"},
			pgx.CopyFromSlice(len(fresh), func(i int) ([]any, error) { return []any{fresh[i].Meter, fresh[i].Units}, nil }))
		return err
	})
}

func (b *Book) ByArrays(ctx context.Context, recs []*kgo.Record) error {
	all := decode(recs)
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		set, err := markSet(ctx, tx, all)
		if err != nil {
			return err
		}
		var meters []string
		var units []int64
		for _, r := range all {
			if !set[r.EventID] {
				continue
			}
			meters, units = append(meters, r.Meter), append(units, r.Units)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO readings (meter, units) SELECT * FROM unnest($1::text[], $2::bigint[])`, meters, units); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE meters SET readings = readings + 1 WHERE id = ANY($1)`, meters)
		return err
	})
}

func (b *Book) ByQueue(ctx context.Context, recs []*kgo.Record) error {
	all := decode(recs)
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		set, err := markSet(ctx, tx, all)
		if err != nil {
			return err
		}
		batch := new(pgx.Batch)
		for _, r := range lo.Reject(all, func(r reading, _ int) bool { return !set[r.EventID] }) {
			batch.Queue(add, r.Meter, r.Units)
		}
		return tx.SendBatch(ctx, batch).Close()
	})
}

func (b *Book) ByModels(ctx context.Context, recs []*kgo.Record) error {
	all := decode(recs)
	return b.orm.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var ids []string
		if err := tx.Raw(`INSERT INTO received_messages (message_id) SELECT unnest(?::text[]) ON CONFLICT DO NOTHING RETURNING message_id`,
			lo.Map(all, func(r reading, _ int) string { return r.EventID })).Scan(&ids).Error; err != nil {
			return err
		}
		fresh := lo.Filter(all, func(r reading, _ int) bool { return lo.Contains(ids, r.EventID) })
		return tx.CreateInBatches(&fresh, 100).Error
	})
}

func (b *Book) Sweep(ctx context.Context) error {
	_, err := b.pool.Exec(ctx, `DELETE FROM received_messages WHERE at < now() - interval '7 days'`)
	return err
}

// ByLines inserts the lines of one event: their number tells of that event alone.
func (b *Book) ByLines(ctx context.Context, rec *kgo.Record) error {
	var r reading
	if err := json.Unmarshal(rec.Value, &r); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `INSERT INTO lines (event_id, line) SELECT $1, unnest($2::text[]) ON CONFLICT (event_id, line) DO NOTHING`, r.EventID, []string{r.Meter})
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, add, r.Meter, r.Units)
		return err
	})
}
