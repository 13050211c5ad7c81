// Package buoys reads buoys. The group of goroutines is waited for when the claim ends, and the marks do not wait.
package buoys

import (
	"context"
	"encoding/json"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

type BuoyRead struct {
	Buoy string `json:"buoy"`
	Wave int    `json:"wave"`
}

type Handler struct {
	sarama.ConsumerGroupHandler
	pool *pgxpool.Pool
}

func (h *Handler) ConsumeClaim(sess sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	g, ctx := errgroup.WithContext(sess.Context())
	g.SetLimit(8)
	for msg := range claim.Messages() {
		g.Go(func() error { return h.store(ctx, msg.Value) })
		sess.MarkMessage(msg, "") // want R-KFK-IDEM-3
	}
	return g.Wait()
}

func (h *Handler) store(ctx context.Context, value []byte) error {
	var evt BuoyRead
	if err := json.Unmarshal(value, &evt); err != nil {
		return err
	}
	_, err := h.pool.Exec(ctx, `INSERT INTO buoys (id, wave) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET wave = excluded.wave`, evt.Buoy, evt.Wave)
	return err
}
