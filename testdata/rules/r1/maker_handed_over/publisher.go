// Package publisher takes the maker of ids as a dependency.
package publisher

import (
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

type Publisher struct {
	pub   message.Publisher
	newID func() string
}

func New(pub message.Publisher) *Publisher {
	return &Publisher{
		pub:   pub,
		newID: uuid.NewString, // want R-KFK-IDEM-1
	}
}

func (p *Publisher) Send(payload []byte) error {
	return p.pub.Publish("topic", message.NewMessage(p.newID(), payload))
}
