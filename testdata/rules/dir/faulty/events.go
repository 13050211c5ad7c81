// Package faulty has directives that are no good.
package faulty

import "github.com/google/uuid"

type PingEvent struct {
	EventID string `json:"event_id"`
}

func A() PingEvent {
	return PingEvent{EventID: uuid.NewString()} //nolint:idemlint // the receiver wants version 4
}

func B() PingEvent {
	// want-below idemlint
	//idemlint:ignore R-KFK-IDEM-1
	return PingEvent{EventID: uuid.NewString()}
}

func C() int {
	// want-below idemlint
	//idemlint:ignore uuidv7 nothing is made here
	return 0
}
