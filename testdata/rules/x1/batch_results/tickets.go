// Package tickets queues the marks of a batch, and does not go by what came of them.
package tickets

import (
	"context"
	"encoding/json"

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

// Blindly only asks whether the marks failed.
func Blindly(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all, err := decode(recs)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		marks := &pgx.Batch{}
		for _, s := range all {
			marks.Queue(mark, s.EventID)
		}
		res := tx.SendBatch(ctx, marks)
		for range all {
			if _, err := res.Exec(); err != nil {
				return err
			}
		}
		if err := res.Close(); err != nil {
			return err
		}
		for _, s := range all {
			if _, err := tx.Exec(ctx, sell, s.Show, s.Seats); err != nil {
				return err
			}
		}
		return nil
	})
}

// Together queues mark and sale in one batch.
func Together(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all, err := decode(recs)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		b := &pgx.Batch{}
		for _, s := range all {
			b.Queue(mark, s.EventID)
			b.Queue(sell, s.Show, s.Seats)
		}
		return tx.SendBatch(ctx, b).Close()
	})
}

// Counted keeps a count of what was new, and sells all.
func Counted(ctx context.Context, pool *pgxpool.Pool, recs []*kgo.Record) error { // want R-KFK-IDEM-X1
	all, err := decode(recs)
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		fresh := 0
		b := &pgx.Batch{}
		for _, s := range all {
			b.Queue(mark, s.EventID).Exec(func(tag pgconn.CommandTag) error {
				fresh += int(tag.RowsAffected())
				return nil
			})
			b.Queue(sell, s.Show, s.Seats)
		}
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		println(fresh)
		return nil
	})
}

func Sweep(ctx context.Context, pool *pgxpool.Pool) error {
	_, err := pool.Exec(ctx, `DELETE FROM received_messages WHERE at < now() - interval '7 days'`)
	return err
}
