// Package imports stores imported rows under an event id made of the place in the log.
package imports

import (
	"encoding/json"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/segmentio/kafka-go"
)

type ImportedEvent struct {
	EventID string `json:"event_id"`
	Row     json.RawMessage
}

// Map maps a message of the old system.
func Map(m kafka.Message) ImportedEvent {
	var evt ImportedEvent
	evt.Row = m.Value
	evt.EventID = fmt.Sprint(m.Topic, "-", m.Offset) // want R-KFK-IDEM-X2
	return evt
}

var _ message.HandlerFunc
