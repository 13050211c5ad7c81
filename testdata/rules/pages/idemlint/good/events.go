// Package pings accepts a finding, and says why.
package pings

import "github.com/google/uuid"

type PingEvent struct {
	EventID string `json:"event_id"`
}

// page:begin
func NewPing() PingEvent {
	//idemlint:ignore R-KFK-IDEM-1 the receiver wants version 4
	return PingEvent{EventID: uuid.NewString()}
}

// page:end
