// Package ferries announces departures; who makes the ids is told to it.
package ferries

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
)

type departed struct {
	MessageID string `json:"message_id"`
	Ferry     string `json:"ferry"`
}

type Announcer struct {
	w     *kafka.Writer
	newID func() string
}

func NewAnnouncer(w *kafka.Writer, newID func() string) *Announcer {
	return &Announcer{w: w, newID: newID}
}

// ID makes an id.
func ID() string { return uuid.NewString() }

func (a *Announcer) Announce(ctx context.Context, ferry string) error {
	b, err := json.Marshal(departed{MessageID: a.newID(), Ferry: ferry})
	if err != nil {
		return err
	}
	return a.w.WriteMessages(ctx, kafka.Message{Key: []byte(ferry), Value: b})
}
