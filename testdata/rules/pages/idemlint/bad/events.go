// Package pings has directives that are no good.
package pings

import "github.com/google/uuid"

type PingEvent struct {
	EventID string `json:"event_id"`
}

// page:begin
func NewPing() PingEvent {
	// want-below idemlint
	//idemlint:ignore R-KFK-IDEM-1
	return PingEvent{EventID: uuid.NewString()}
}

func Name(evt PingEvent) string {
	// want-below idemlint
	//idemlint:ignore uuidv7 the receiver wants version 4
	return "ping " + evt.EventID
}

func Topic() string {
	// want-below idemlint
	//idemlint:ignore R-KFK-IDEM-9 a topic is no event
	return "pings"
}

// page:end
