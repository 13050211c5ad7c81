// Package postcards wraps its handler with middleware in a loop; one of them is the check.
package postcards

import (
	"context"
	"encoding/json"
	"net/smtp"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Func func(ctx context.Context, value []byte) error

type Wrap func(Func) Func

type Consumer struct {
	cl *kgo.Client
	h  Func
}

func New(cl *kgo.Client, h Func, wraps ...Wrap) *Consumer {
	for i := len(wraps) - 1; i >= 0; i-- {
		h = wraps[i](h)
	}
	return &Consumer{cl: cl, h: h}
}

func (c *Consumer) Run(ctx context.Context) error {
	for {
		fs := c.cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return err
		}
		for _, r := range fs.Records() {
			if err := c.h(ctx, r.Value); err != nil {
				return err
			}
			if err := c.cl.CommitRecords(ctx, r); err != nil {
				return err
			}
		}
	}
}

type Marks struct{ pool *pgxpool.Pool }

func (m Marks) once(next Func) Func {
	return func(ctx context.Context, value []byte) error {
		var head struct {
			EventID string `json:"event_id"`
		}
		if err := json.Unmarshal(value, &head); err != nil {
			return err
		}
		tag, err := m.pool.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, head.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return next(ctx, value)
	}
}

func (m Marks) Purge(ctx context.Context, before time.Time) error {
	_, err := m.pool.Exec(ctx, `DELETE FROM processed_event WHERE processed_at < $1`, before)
	return err
}

func send(_ context.Context, value []byte) error {
	var card struct {
		To   string `json:"to"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(value, &card); err != nil {
		return err
	}
	return smtp.SendMail("relay:25", nil, "post@example.com", []string{card.To}, []byte(card.Text))
}

func Start(ctx context.Context, cl *kgo.Client, pool *pgxpool.Pool) error {
	return New(cl, send, Marks{pool}.once).Run(ctx)
}
