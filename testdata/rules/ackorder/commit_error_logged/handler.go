// Package vaults counts coins. The commit's error is logged, and the message is marked.
package vaults

import (
	"context"
	"database/sql"
	"encoding/json"
	"log"

	"github.com/IBM/sarama"
)

type CoinsCounted struct {
	EventID string `json:"event_id"`
	Vault   string `json:"vault"`
	Coins   int    `json:"coins"`
}

type Handler struct {
	sarama.ConsumerGroupHandler
	db *sql.DB
}

func (h *Handler) ConsumeClaim(sess sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		var evt CoinsCounted
		if err := json.Unmarshal(msg.Value, &evt); err != nil {
			return err
		}
		if err := h.count(sess.Context(), evt); err != nil {
			return err
		}
		sess.MarkMessage(msg, "") // want R-KFK-IDEM-3
	}
	return nil
}

func (h *Handler) count(ctx context.Context, evt CoinsCounted) error {
	tx, err := h.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE vaults SET coins = coins + $2 WHERE id = $1`, evt.Vault, evt.Coins); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		log.Println("commit", err)
	}
	return nil
}
