// Package toll books a toll once: what it knows of the barge comes out of a cache, which is no mark of the event.
package toll

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/segmentio/kafka-go"
)

type Passed struct {
	EventID string `json:"event_id"`
	Barge   string `json:"barge"`
}

type Barge struct {
	Name   string `json:"name"`
	Length int64  `json:"length"`
}

type Lock struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
	rdb    *redis.Client
}

func (l *Lock) Run(ctx context.Context) error {
	for {
		msg, err := l.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := l.pass(ctx, msg); err != nil {
			return err
		}
		if err := l.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (l *Lock) pass(ctx context.Context, msg kafka.Message) error {
	var p Passed
	if err := json.Unmarshal(msg.Value, &p); err != nil {
		return err
	}
	b, err := l.barge(ctx, p.Barge)
	if err != nil {
		return err
	}
	_, err = l.pool.Exec(ctx, `INSERT INTO tolls (event_id, barge, length) VALUES ($1, $2, $3) ON CONFLICT (event_id) DO NOTHING`,
		p.EventID, b.Name, b.Length)
	return err
}

func (l *Lock) barge(ctx context.Context, name string) (*Barge, error) {
	var b Barge
	if text, err := l.rdb.Get(ctx, "barge:"+name).Bytes(); err == nil {
		if err := json.Unmarshal(text, &b); err != nil {
			return nil, err
		}
		return &b, nil
	}
	err := l.pool.QueryRow(ctx, `SELECT name, length FROM barges WHERE name = $1`, name).Scan(&b.Name, &b.Length)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(&b)
	if err != nil {
		return nil, err
	}
	return &b, l.rdb.Set(ctx, "barge:"+name, text, time.Hour).Err()
}
