// Package bells rings bells. The deferred mark looks at the error first.
package bells

import (
	"encoding/json"

	"github.com/IBM/sarama"
	"github.com/jackc/pgx/v5/pgxpool"
)

type BellMoved struct {
	Bell  string `json:"bell"`
	Tower string `json:"tower"`
}

type Handler struct {
	sarama.ConsumerGroupHandler
	pool *pgxpool.Pool
}

func (h *Handler) ConsumeClaim(sess sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for msg := range claim.Messages() {
		if err := h.one(sess, msg); err != nil {
			return err
		}
	}
	return nil
}

func (h *Handler) one(sess sarama.ConsumerGroupSession, msg *sarama.ConsumerMessage) (err error) {
	defer func() {
		if err == nil {
			sess.MarkMessage(msg, "")
		}
	}()
	var evt BellMoved
	if err := json.Unmarshal(msg.Value, &evt); err != nil {
		return err
	}
	_, err = h.pool.Exec(sess.Context(), `INSERT INTO bells (name, tower) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET tower = excluded.tower`, evt.Bell, evt.Tower)
	return err
}
