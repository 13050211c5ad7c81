// Package parcels names its events after the parcel: the parcel's id is random, the event's id is derived from it and
// the same each time.
package parcels

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
)

var namespace = uuid.MustParse("0f7c1c1e-6a53-4e0a-9f9c-1d1f6d0b6c11")

type Event struct {
	EventID  string `json:"event_id"`
	ParcelID string `json:"parcel_id"`
}

func Accepted() Event {
	parcel := uuid.New()
	return Event{EventID: uuid.NewSHA1(namespace, parcel[:]).String(), ParcelID: parcel.String()}
}

func Weighed() Event {
	parcel := uuid.NewString()
	sum := sha256.Sum256([]byte("weighed:" + parcel))
	return Event{EventID: hex.EncodeToString(sum[:]), ParcelID: parcel}
}

func Sorted() Event {
	parcel := uuid.NewString()
	return Event{EventID: digest("sorted", parcel), ParcelID: parcel}
}

func digest(parts ...string) string {
	h := md5.New()
	for _, p := range parts {
		io.WriteString(h, p)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

func Send(ctx context.Context, w *kafka.Writer, e Event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return w.WriteMessages(ctx, kafka.Message{Key: []byte(e.ParcelID), Value: b})
}
