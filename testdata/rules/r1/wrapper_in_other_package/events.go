// Package events makes events; the random maker is behind a helper of another package.
package events

import "example.com/fixtures/r1/wrapper_in_other_package/id"

type UserEvent struct {
	EventID string `json:"event_id"`
	UserID  string `json:"user_id"`
	TraceID string `json:"trace_id"`
}

func NewUser() UserEvent {
	user := id.New()
	return UserEvent{
		EventID: id.New(), // want R-KFK-IDEM-1
		UserID:  user,
		TraceID: id.New(),
	}
}
