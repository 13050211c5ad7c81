// Package bus tells watermill's marshalers how to make the messages' ids.
package bus

import (
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
)

func topic(p cqrs.GenerateEventPublishTopicParams) (string, error) { return p.EventName, nil }

func Random(p message.Publisher) (*cqrs.EventBus, error) {
	return cqrs.NewEventBusWithConfig(p, cqrs.EventBusConfig{
		GeneratePublishTopic: topic,
		Marshaler:            cqrs.JSONMarshaler{NewUUID: watermill.NewUUID}, // want R-KFK-IDEM-1
	})
}

func Literal(p message.Publisher) (*cqrs.EventBus, error) {
	m := cqrs.JSONMarshaler{GenerateName: cqrs.StructName}
	m.NewUUID = func() string { return uuid.NewString() } // want R-KFK-IDEM-1
	return cqrs.NewEventBusWithConfig(p, cqrs.EventBusConfig{GeneratePublishTopic: topic, Marshaler: m})
}

func Sorted(p message.Publisher) (*cqrs.EventBus, error) {
	return cqrs.NewEventBusWithConfig(p, cqrs.EventBusConfig{
		GeneratePublishTopic: topic,
		Marshaler:            cqrs.JSONMarshaler{NewUUID: watermill.NewULID},
	})
}
