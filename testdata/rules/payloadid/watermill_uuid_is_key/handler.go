// Package gardens waters gardens. The UUID of a message is a header, too.
package gardens

import (
	"database/sql"
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill/message"
)

type GardenDry struct {
	Garden string `json:"garden"`
}

type Handler struct {
	db *sql.DB
}

func Register(r *message.Router, sub message.Subscriber, h *Handler) {
	r.AddNoPublisherHandler("gardens", "garden.dry", sub, h.Handle)
}

func (h *Handler) Handle(msg *message.Message) error {
	var evt GardenDry
	if err := json.Unmarshal(msg.Payload, &evt); err != nil {
		return err
	}
	tx, err := h.db.BeginTx(msg.Context(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	res, err := tx.Exec(`INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, msg.UUID) // want R-KFK-IDEM-1
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.Exec(`UPDATE gardens SET litres = litres + 10 WHERE name = $1`, evt.Garden); err != nil {
		return err
	}
	return tx.Commit()
}
