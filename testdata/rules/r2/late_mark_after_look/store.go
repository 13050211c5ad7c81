// Package badges awards badges: it looks, works, and marks last. The clause is there, but what it answers is dropped, so
// two consumers that looked at the same time both award.
package badges

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/segmentio/kafka-go"
)

const (
	look = `SELECT EXISTS (SELECT 1 FROM processed_badge_events WHERE event_id = $1)`
	mark = `INSERT INTO processed_badge_events (event_id) VALUES ($1) ON CONFLICT DO NOTHING` // want R-KFK-IDEM-2
)

type Earned struct {
	EventID string `json:"event_id"`
	Player  int64  `json:"player"`
	Badge   string `json:"badge"`
}

type Consumer struct {
	reader *kafka.Reader
	db     *sql.DB
}

func (c *Consumer) Run(ctx context.Context) error {
	if _, err := c.db.ExecContext(ctx, `DELETE FROM processed_badge_events WHERE created_at < now() - interval '9 days'`); err != nil {
		return err
	}
	for {
		msg, err := c.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := c.award(ctx, msg); err != nil {
			return err
		}
		if err := c.reader.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}

func (c *Consumer) award(ctx context.Context, msg kafka.Message) error {
	var evt Earned
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var known bool
	if err := tx.QueryRowContext(ctx, look, evt.EventID).Scan(&known); err != nil {
		return err
	}
	if known {
		return nil
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO badges (player, badge) VALUES ($1, $2)`, evt.Player, evt.Badge); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, mark, evt.EventID); err != nil {
		return err
	}
	return tx.Commit()
}
