// Package convert gives messages back to the router, which publishes them.
package convert

import (
	"encoding/json"

	"github.com/ThreeDotsLabs/watermill/message"
)

type reading struct {
	ID     string  `json:"id"`
	Inches float64 `json:"inches"`
}

func metric(msg *message.Message) ([]*message.Message, error) { // want R-KFK-IDEM-X1
	var r reading
	if err := json.Unmarshal(msg.Payload, &r); err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"reading": r.ID, "cm": r.Inches * 2.54})
	if err != nil {
		return nil, err
	}
	return []*message.Message{message.NewMessage(r.ID, body)}, nil
}

func checked(msg *message.Message) ([]*message.Message, error) {
	return nil, json.Unmarshal(msg.Payload, new(reading))
}

// Routes adds the handlers.
func Routes(r *message.Router, sub message.Subscriber, pub message.Publisher) {
	r.AddHandler("metric", "inches", sub, "centimetres", pub, metric)
	r.AddHandler("checked", "inches", sub, "nothing", pub, checked)
}
