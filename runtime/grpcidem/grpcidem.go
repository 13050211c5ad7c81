// Package grpcidem gives the gRPC calls of a handler their event's idempotency key.
//
//	conn, err := grpc.NewClient(address,
//		grpc.WithChainUnaryInterceptor(grpcidem.UnaryClientInterceptor(grpcidem.Options{})),
//		grpc.WithChainStreamInterceptor(grpcidem.StreamClientInterceptor(grpcidem.Options{})))
//
// A call must be made with the context that the handler was called with, or one made
// from it; else it fails with runtime.ErrNoEvent and is not sent. The key is that of
// runtime.IdempotencyKey for the context's step (runtime.WithStep), and travels as
// metadata. Without a step an event may make one call in an attempt: a second one fails
// with runtime.ErrSharedKey, unless it is the first one again (same method and message)
// after that has failed. In a named step only a call that differs is refused. gRPC's own
// retries are one call and keep the key.
//
// Errors that a call is refused with are no gRPC status and match with errors.Is and
// errors.As; return them from the handler, wrapped or not.
//
// The package is apart from runtime so that runtime does not import gRPC.
package grpcidem

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/idemlint/idemlint/runtime/internal/idemkey"
)

// MetadataKey is the metadata key of an idempotency key unless Options say otherwise.
const MetadataKey = "idempotency-key"

// Options configure the interceptors. The zero value is useful.
type Options struct {
	// MetadataKey is where the key goes, MetadataKey if empty. A call whose outgoing
	// metadata has it already is sent as it is.
	MetadataKey string
	// ReadOnly tells which methods change nothing and need no key, by their full names
	// ("/bank.Accounts/Balance"). Beside these they are the ones whose .proto file says
	// idempotency_level = NO_SIDE_EFFECTS, as far as the generated code is linked in.
	ReadOnly func(fullMethod string) bool
}

// UnaryClientInterceptor returns an interceptor for calls with one message each way.
func UnaryClientInterceptor(opts Options) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
		if opts.passes(ctx, method) {
			return invoke(ctx, method, req, reply, cc, options...)
		}
		body, err := digest(req)
		if err != nil {
			return fmt.Errorf("%s not sent: %w", method, err)
		}
		ctx, call, err := opts.begin(ctx, method, body)
		if err != nil {
			return err
		}
		failed := true // unless invoke returns
		defer func() { call.Ended(failed) }()
		err = invoke(ctx, method, req, reply, cc, options...)
		failed = err != nil
		return err
	}
}

// StreamClientInterceptor returns an interceptor for streams. A stream is one call: it
// has one key, whatever is sent on it. Since nobody can tell whether a second stream
// sends the same, a step may open one, and another only after that has failed.
func StreamClientInterceptor(opts Options) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
		if opts.passes(ctx, method) {
			return open(ctx, desc, cc, method, options...)
		}
		ctx, call, err := opts.begin(ctx, method, nil)
		if err != nil {
			return nil, err
		}
		watched := &stream{single: !desc.ServerStreams, call: call}
		watched.ClientStream, err = open(ctx, desc, cc, method, options...)
		if err != nil {
			watched.ended(true)
			return nil, err
		}
		return watched, nil
	}
}

// stream learns from its answers how the call ends.
type stream struct {
	grpc.ClientStream
	single bool // one answer ends it
	call   *idemkey.Call
	once   sync.Once
}

func (s *stream) ended(failed bool) { s.once.Do(func() { s.call.Ended(failed) }) }

func (s *stream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	switch {
	case errors.Is(err, io.EOF), err == nil && s.single:
		s.ended(false)
	case err != nil:
		s.ended(true)
	}
	return err
}

func (o Options) metadataKey() string {
	if o.MetadataKey == "" {
		return MetadataKey
	}
	return strings.ToLower(o.MetadataKey)
}

// passes tells whether a call needs no key, or has one.
func (o Options) passes(ctx context.Context, method string) bool {
	if md, ok := metadata.FromOutgoingContext(ctx); ok {
		for _, key := range md.Get(o.metadataKey()) {
			if key != "" {
				return true
			}
		}
	}
	return o.ReadOnly != nil && o.ReadOnly(method) || hasNoSideEffects(method)
}

// hasNoSideEffects reads the method's own word from the descriptors that generated code
// registers.
func hasNoSideEffects(method string) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", ".")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return false
	}
	options, ok := found.Options().(*descriptorpb.MethodOptions)
	return ok && options.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS
}

func (o Options) begin(ctx context.Context, method string, body *[sha256.Size]byte) (context.Context, *idemkey.Call, error) {
	scope, err := idemkey.From(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("%s not sent, for want of an idempotency key: %w", method, err)
	}
	key, call, err := scope.Begin(idemkey.Step(ctx), method, body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s not sent: %w", method, err)
	}
	md, ok := metadata.FromOutgoingContext(ctx)
	if !ok {
		md = metadata.MD{}
	}
	md.Set(o.metadataKey(), key.String())
	return metadata.NewOutgoingContext(ctx, md), call, nil
}

// digest returns the digest of a message, nil for one that is no protobuf message.
func digest(req any) (*[sha256.Size]byte, error) {
	m, ok := req.(proto.Message)
	if !ok {
		return nil, nil
	}
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding its message: %w", err)
	}
	sum := sha256.Sum256(data)
	return &sum, nil
}
