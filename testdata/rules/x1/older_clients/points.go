// Package points uses clients of former names and majors: they are the same clients.
package points

import (
	"context"

	"github.com/Shopify/sarama"
	"github.com/go-redis/redis/v8"
	"github.com/jackc/pgx/v4/pgxpool"
)

// Desk keeps points.
type Desk struct {
	pool  *pgxpool.Pool
	cache *redis.Client
}

// Setup does nothing.
func (d *Desk) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup does nothing.
func (d *Desk) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim adds points, behind a key in Redis or behind nothing.
func (d *Desk) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		do := d.add
		if msg.Topic == "checked" {
			do = d.addOnce
		}
		if err := do(session.Context(), msg); err != nil {
			return err
		}
		session.MarkMessage(msg, "")
	}
	return nil
}

func (d *Desk) add(ctx context.Context, msg *sarama.ConsumerMessage) error { // want R-KFK-IDEM-X1
	_, err := d.pool.Exec(ctx, `UPDATE accounts SET points = points + 1 WHERE id = $1`, string(msg.Key))
	return err
}

func (d *Desk) addOnce(ctx context.Context, msg *sarama.ConsumerMessage) error {
	fresh, err := d.cache.SetNX(ctx, "points:"+string(msg.Value), 1, 0).Result()
	if err != nil || !fresh {
		return err
	}
	return d.cache.Publish(ctx, "points", msg.Value).Err()
}
