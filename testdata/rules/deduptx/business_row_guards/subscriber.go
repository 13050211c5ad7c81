// Package claims opens insurance claims. The claim's own row tells repeats, and the counter beside it is not in its
// transaction.
package claims

import (
	"database/sql"
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill/message"
)

type DamageReported struct {
	EventID string `json:"event_id"`
	Policy  string `json:"policy"`
}

type Claims struct {
	db *sql.DB
}

func Register(r *message.Router, sub message.Subscriber, c *Claims) {
	r.AddNoPublisherHandler("claims", "damage.reported", sub, c.On)
}

func (c *Claims) On(msg *message.Message) error {
	var evt DamageReported
	if err := json.Unmarshal(msg.Payload, &evt); err != nil {
		return err
	}
	ctx := msg.Context()
	res, err := c.db.ExecContext(ctx, `INSERT INTO claims (event_id, policy) VALUES ($1, $2) ON CONFLICT (event_id) DO NOTHING`, evt.EventID, evt.Policy) // want R-KFK-IDEM-3
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = c.db.ExecContext(ctx, `UPDATE policies SET claims = claims + 1 WHERE id = $1`, evt.Policy)
	return err
}
