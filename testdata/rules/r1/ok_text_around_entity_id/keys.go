// Package keys names an event after the key it is about: the id of the key is random, the event's is made from it.
package keys

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
)

type Key struct {
	ID   string `json:"id"`
	Door int    `json:"door"`
}

type Cut struct {
	EventID string `json:"event_id"`
	KeyID   string `json:"key_id"`
}

func CutKey(door int) (Key, []byte, error) {
	k := Key{ID: uuid.NewString(), Door: door}
	b, err := json.Marshal(Cut{EventID: fmt.Sprintf("key-cut:%s", k.ID), KeyID: k.ID})
	return k, b, err
}

func Lose(door int) ([]byte, error) {
	keyID := uuid.NewString()
	return json.Marshal(Cut{EventID: keyID + "/lost", KeyID: keyID})
}
