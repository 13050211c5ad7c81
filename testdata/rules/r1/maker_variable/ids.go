// Package tolls has the maker of ids in a package variable: a call of it is a call of a wrapper.
package tolls

import (
	"encoding/json"

	"github.com/google/uuid"
)

var newID = uuid.NewString

type passed struct {
	EventID string `json:"event_id"`
	Gate    int    `json:"gate"`
}

func Passed(gate int) ([]byte, error) {
	return json.Marshal(passed{EventID: newID(), Gate: gate}) // want R-KFK-IDEM-1
}

type Gate struct{ id func() string }

func Open() *Gate { return &Gate{id: newID} } // want R-KFK-IDEM-1

func (g *Gate) Passed(gate int) ([]byte, error) {
	return json.Marshal(passed{EventID: g.id(), Gate: gate})
}
