// Package tickets queues the marks of a batch, and asks what came of each.
package tickets

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type sale struct {
	EventID string `json:"event_id"`
	Show    string `json:"show"`
	Seats   int64  `json:"seats"`
}

type Office struct{ pool *pgxpool.Pool }

func decode(recs []*kgo.Record) (out []sale, err error) {
	for _, rec := range recs {
		var s sale
		if err := json.Unmarshal(rec.Value, &s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

const (
	mark = `INSERT INTO received_messages (message_id) VALUES ($1) ON CONFLICT DO NOTHING`
	sell = `UPDATE shows SET seats = seats - $2 WHERE id = $1`
)

// ByCount goes by the number of rows of each mark.
func (o *Office) ByCount(ctx context.Context, recs []*kgo.Record) error {
	all, err := decode(recs)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		marks := &pgx.Batch{}
		for _, s := range all {
			marks.Queue(mark, s.EventID)
		}
		res := tx.SendBatch(ctx, marks)
		sales := &pgx.Batch{}
		for _, s := range all {
			tag, err := res.Exec()
			if err != nil {
				return errors.Join(err, res.Close())
			}
			if tag.RowsAffected() == 0 {
				continue
			}
			sales.Queue(sell, s.Show, s.Seats)
		}
		if err := res.Close(); err != nil {
			return err
		}
		return tx.SendBatch(ctx, sales).Close()
	})
}

// ByRow goes by the row that each mark returns.
func (o *Office) ByRow(ctx context.Context, recs []*kgo.Record) error {
	all, err := decode(recs)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		marks := &pgx.Batch{}
		for _, s := range all {
			marks.Queue(mark+` RETURNING message_id`, s.EventID)
		}
		fresh, err := returned(tx.SendBatch(ctx, marks), len(all))
		if err != nil {
			return err
		}
		for _, s := range all {
			if _, ok := fresh[s.EventID]; !ok {
				continue
			}
			if _, err := tx.Exec(ctx, sell, s.Show, s.Seats); err != nil {
				return err
			}
		}
		return nil
	})
}

func returned(res pgx.BatchResults, n int) (map[string]struct{}, error) {
	defer res.Close()
	fresh := make(map[string]struct{}, n)
	for range n {
		var id string
		switch err := res.QueryRow().Scan(&id); {
		case err == nil:
			fresh[id] = struct{}{}
		case errors.Is(err, pgx.ErrNoRows):
		default:
			return nil, err
		}
	}
	return fresh, nil
}

// ByFunction is told by functions.
func (o *Office) ByFunction(ctx context.Context, recs []*kgo.Record) error {
	all, err := decode(recs)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, o.pool, func(tx pgx.Tx) error {
		var fresh []sale
		marks := &pgx.Batch{}
		for _, s := range all {
			marks.Queue(mark, s.EventID).Exec(func(tag pgconn.CommandTag) error {
				if tag.RowsAffected() > 0 {
					fresh = append(fresh, s)
				}
				return nil
			})
		}
		if err := tx.SendBatch(ctx, marks).Close(); err != nil {
			return err
		}
		for _, s := range fresh {
			if _, err := tx.Exec(ctx, sell, s.Show, s.Seats); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *Office) Sweep(ctx context.Context) error {
	_, err := o.pool.Exec(ctx, `DELETE FROM received_messages WHERE at < now() - interval '7 days'`)
	return err
}
