// Package libraries makes event ids with other libraries.
package libraries

import (
	gofrs "github.com/gofrs/uuid/v5"
	hashicorp "github.com/hashicorp/go-uuid"
	satori "github.com/satori/go.uuid"
)

// OrderPlaced is an event.
type OrderPlaced struct {
	EventID string
	Order   string
}

// Gofrs makes one.
func Gofrs(order string) (OrderPlaced, error) {
	id, err := gofrs.NewV4() // want R-KFK-IDEM-1
	if err != nil {
		return OrderPlaced{}, err
	}
	return OrderPlaced{EventID: id.String(), Order: order}, nil
}

// GofrsTimed makes one that sorts by time.
func GofrsTimed(order string) (OrderPlaced, error) {
	id, err := gofrs.NewV7()
	if err != nil {
		return OrderPlaced{}, err
	}
	return OrderPlaced{EventID: id.String(), Order: order}, nil
}

// Satori makes one.
func Satori(order string) OrderPlaced {
	return OrderPlaced{EventID: satori.NewV4().String(), Order: order} // want R-KFK-IDEM-1
}

// Hashicorp makes one.
func Hashicorp(order string) (OrderPlaced, error) {
	id, err := hashicorp.GenerateUUID() // want R-KFK-IDEM-1
	if err != nil {
		return OrderPlaced{}, err
	}
	return OrderPlaced{EventID: id, Order: order}, nil
}
