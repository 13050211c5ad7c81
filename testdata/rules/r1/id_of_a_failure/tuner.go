// Package tuner says of each piano what became of it, also when that is a failure.
package tuner

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"gorm.io/gorm"
)

type Piano struct {
	ID    uint
	Keys  int
	Owner string
}

type outcome struct {
	EventID string `json:"event_id"`
	Reason  string `json:"reason"`
}

type Tuner struct {
	db   *sql.DB
	orm  *gorm.DB
	pub  message.Publisher
	fail func(error)
}

func (t *Tuner) say(id, topic, reason string) error {
	return t.pub.Publish(topic, message.NewMessage(id, []byte(reason)))
}

func (t *Tuner) Read(raw []byte) error {
	var p Piano
	if err := json.Unmarshal(raw, &p); err != nil {
		return t.say(watermill.NewUUID(), "unreadable", err.Error()) // want R-KFK-IDEM-1
	}
	return t.say(watermill.NewULID(), "read", p.Owner)
}

func (t *Tuner) Tune(ctx context.Context, p Piano) ([]byte, error) {
	if _, err := t.db.ExecContext(ctx, `UPDATE pianos SET tuned = true WHERE id = $1`, p.ID); err != nil {
		return json.Marshal(outcome{EventID: uuid.NewString(), Reason: err.Error()}) // want R-KFK-IDEM-1
	}
	return json.Marshal(outcome{EventID: newID()})
}

func (t *Tuner) Buy(p *Piano) ([]byte, error) {
	if err := t.orm.Create(p).Error; err != nil {
		return json.Marshal(outcome{EventID: uuid.NewString(), Reason: err.Error()}) // want R-KFK-IDEM-1
	}
	return json.Marshal(outcome{EventID: newID()})
}

// newID has a random id only for the day on which there is no sorted one.
func newID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString()
	}
	return id.String()
}
