// Package vines reports grapes. The event's id is metadata only.
package vines

import (
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

type GrapesPicked struct {
	Vineyard string `json:"vineyard"`
	Kilos    int    `json:"kilos"`
}

type Publisher struct {
	pub message.Publisher
}

func (p *Publisher) Picked(vineyard string, kilos int) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	payload, err := json.Marshal(GrapesPicked{Vineyard: vineyard, Kilos: kilos})
	if err != nil {
		return err
	}
	msg := message.NewMessage(watermill.NewULID(), payload)
	msg.Metadata.Set("event_id", id.String()) // want R-KFK-IDEM-1
	msg.Metadata.Set("source", "vines")
	return p.pub.Publish("grapes.picked", msg)
}
