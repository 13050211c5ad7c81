// Package chat has v7 event ids with a random fallback, and entities with random ids.
package chat

import (
	"time"

	"github.com/google/uuid"
)

type MessageSent struct {
	EventID   string `json:"event_id"`
	MessageNo int64  `json:"message_no"`
}

// Message is a row of the table of messages.
type Message struct {
	ID   uuid.UUID `gorm:"type:uuid;primaryKey"`
	Text string
	At   time.Time
}

type Session struct {
	ID        string
	RequestID string
}

func eventID() string {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.NewString()
	}
	return id.String()
}

func Send(text string) (Message, MessageSent, Session) {
	return Message{ID: uuid.New(), Text: text, At: time.Now()}, MessageSent{EventID: eventID()},
		Session{ID: uuid.NewString(), RequestID: uuid.NewString()}
}
