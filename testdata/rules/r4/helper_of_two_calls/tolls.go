package helper_of_two_calls

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type passage struct {
	ID    string `json:"event_id"`
	Cents int    `json:"cents"`
}

type Gate struct {
	pool   *pgxpool.Pool
	client *http.Client
}

func (g *Gate) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (g *Gate) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (g *Gate) ConsumeClaim(sess sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		if err := g.handle(sess.Context(), msg); err != nil {
			return err
		}
		sess.MarkMessage(msg, "")
	}
	return nil
}

func (g *Gate) handle(ctx context.Context, msg *sarama.ConsumerMessage) error {
	var p passage
	if err := json.Unmarshal(msg.Value, &p); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, g.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING", p.ID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		if msg.Topic == "gate.refunded" {
			return g.refund(ctx, p)
		}
		return g.charge(ctx, p)
	})
}

func (g *Gate) refund(ctx context.Context, p passage) error {
	return g.post(ctx, "/refunds", p.ID, p.Cents)
}

func (g *Gate) charge(ctx context.Context, p passage) error {
	return g.post(ctx, "/charges", "", p.Cents)
}

func (g *Gate) post(ctx context.Context, path, key string, cents int) error {
	body, err := json.Marshal(map[string]int{"cents": cents})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://pay.example.net"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := g.client.Do(req) // want R-KFK-IDEM-4
	if err != nil {
		return err
	}
	return res.Body.Close()
}
