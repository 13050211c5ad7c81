// Package kafka has the part of the client's API that the fixtures use, without the C library beneath it.
package kafka

import "time"

// PartitionAny lets the producer choose.
const PartitionAny = int32(-1)

// Offset is a position.
type Offset int64

// TopicPartition is a place.
type TopicPartition struct {
	Topic     *string
	Partition int32
	Offset    Offset
	Error     error
}

// Header is a header.
type Header struct {
	Key   string
	Value []byte
}

// Message is a message.
type Message struct {
	TopicPartition TopicPartition
	Key, Value     []byte
	Headers        []Header
}

// Event is what Poll yields.
type Event interface{ String() string }

// String describes the message.
func (m *Message) String() string { return "" }

// Error is the client's error.
type Error struct{ code int }

// Error describes it.
func (e Error) Error() string { return "" }

// String describes it.
func (e Error) String() string { return "" }

// Consumer consumes.
type Consumer struct{ events chan Event }

// ReadMessage waits for a message.
func (c *Consumer) ReadMessage(timeout time.Duration) (*Message, error) { return nil, nil }

// Poll waits for an event.
func (c *Consumer) Poll(timeoutMs int) Event { return nil }

// Events yields events.
func (c *Consumer) Events() chan Event { return c.events }

// CommitMessage commits.
func (c *Consumer) CommitMessage(m *Message) ([]TopicPartition, error) { return nil, nil }

// StoreMessage stores an offset to be committed.
func (c *Consumer) StoreMessage(m *Message) ([]TopicPartition, error) { return nil, nil }

// StoreOffsets stores offsets to be committed.
func (c *Consumer) StoreOffsets(offsets []TopicPartition) ([]TopicPartition, error) { return nil, nil }

// Producer produces.
type Producer struct{}

// Produce sends.
func (p *Producer) Produce(msg *Message, delivered chan Event) error { return nil }
