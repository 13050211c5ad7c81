// Package parcels derives one event's id, and makes up the other.
package parcels

import (
	"github.com/google/uuid"
)

type Event struct {
	EventID  string `json:"event_id"`
	ParcelID string `json:"parcel_id"`
}

func Both(ns uuid.UUID) (accepted, lost Event) {
	parcel := uuid.NewString()
	accepted = Event{EventID: uuid.NewMD5(ns, []byte(parcel)).String(), ParcelID: parcel}
	lost = Event{EventID: "lost-" + uuid.NewString(), ParcelID: parcel} // want R-KFK-IDEM-1
	return accepted, lost
}
