// Package names marks the offset and commits it before the work: the mark is what comes too early.
package names

import (
	"database/sql"

	"github.com/IBM/sarama"
)

// Handler stores names.
type Handler struct{ db *sql.DB }

// Setup does nothing.
func (h *Handler) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup does nothing.
func (h *Handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim stores the last name of each key.
func (h *Handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		session.MarkOffset(msg.Topic, msg.Partition, msg.Offset+1, "") // want R-KFK-IDEM-3
		session.Commit()
		_, err := h.db.Exec(`INSERT INTO names (key, name) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET name = EXCLUDED.name`, msg.Key, msg.Value)
		if err != nil {
			return err
		}
	}
	return nil
}
