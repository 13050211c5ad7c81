// Package hives has events whose id is behind a method.
package hives

import (
	"time"

	"github.com/google/uuid"
)

type Fact interface {
	EventID() string
	Name() string
}

type stamp struct {
	value uuid.UUID
	at    time.Time
	owner uuid.UUID
}

func (s stamp) EventID() string { return s.value.String() }

func (s stamp) Owner() string { return s.owner.String() }

func stamped() stamp {
	return stamp{
		value: uuid.New(), // want R-KFK-IDEM-1
		owner: uuid.New(),
		at:    time.Now(),
	}
}

type Swarmed struct {
	stamp
	Bees int
}

func (Swarmed) Name() string { return "swarmed" }

type Hive struct {
	id    string
	facts []Fact
}

func NewHive() *Hive { return &Hive{id: uuid.NewString()} }

func (h *Hive) Swarm(bees int) { h.facts = append(h.facts, Swarmed{stamp: stamped(), Bees: bees}) }
