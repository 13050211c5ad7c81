// Package goka has the part of the library's API that the fixtures use.
package goka

import "context"

// Codec encodes and decodes.
type Codec interface {
	Encode(value any) ([]byte, error)
	Decode(data []byte) (any, error)
}

// Stream is a topic.
type Stream string

// Group is a consumer group.
type Group string

// Context is what a callback gets.
type Context interface {
	Context() context.Context
	Topic() Stream
	Partition() int32
	Offset() int64
	Key() string
	Fail(err error)
	SetValue(value any)
	Value() any
	Emit(topic Stream, key string, value any)
}

// ProcessCallback handles a message.
type ProcessCallback func(ctx Context, msg any)

// Edge is an edge of a graph.
type Edge interface{ Topic() string }

type input struct{ topic string }

func (i *input) Topic() string { return i.topic }

// GroupGraph is a graph.
type GroupGraph struct{ edges []Edge }

// DefineGroup makes a graph.
func DefineGroup(group Group, edges ...Edge) *GroupGraph { return &GroupGraph{edges} }

// Input is an edge in.
func Input(topic Stream, c Codec, cb ProcessCallback) Edge { return &input{string(topic)} }
