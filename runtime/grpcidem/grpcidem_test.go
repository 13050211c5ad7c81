package grpcidem_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/grpcidem"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

const (
	transfer = "/bank.Accounts/Transfer"
	balance  = "/bank.Accounts/Balance"
	upload   = "/bank.Accounts/Upload"
)

// bank is a server that notes the keys it gets.
type bank struct {
	*grpc.ClientConn
	mu     sync.Mutex
	keys   []string
	fail   int // how many calls to fail first
	header string
}

func (b *bank) note(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	md, _ := metadata.FromIncomingContext(ctx)
	b.keys = append(b.keys, md.Get(b.header)...)
	if len(md.Get(b.header)) == 0 {
		b.keys = append(b.keys, "")
	}
	if b.fail > 0 {
		b.fail--
		return status.Error(codes.Unavailable, "later")
	}
	return nil
}

func (b *bank) taken() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.keys)
}

func newBank(t *testing.T, opts grpcidem.Options) *bank {
	t.Helper()
	b := &bank{header: "idempotency-key"}
	if opts.MetadataKey != "" {
		b.header = opts.MetadataKey
	}
	unary := func(name string) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.StringValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			return in, b.note(ctx)
		}}
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "bank.Accounts", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{unary("Transfer"), unary("Balance")},
		Streams: []grpc.StreamDesc{{StreamName: "Upload", ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			if err := b.note(s.Context()); err != nil {
				return err
			}
			return s.SendMsg(wrapperspb.String("done"))
		}}},
	}, struct{}{})
	listener := bufconn.Listen(1 << 16)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	var err error
	b.ClientConn, err = grpc.NewClient("passthrough:bank",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcidem.UnaryClientInterceptor(opts)),
		grpc.WithStreamInterceptor(grpcidem.StreamClientInterceptor(opts)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func (b *bank) call(ctx context.Context, method, amount string) error {
	return b.Invoke(ctx, method, wrapperspb.String(amount), new(wrapperspb.StringValue))
}

// stream opens a stream and reads it to its end.
func (b *bank) stream(ctx context.Context) error {
	s, err := b.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, upload)
	if err != nil {
		return err
	}
	if err := s.CloseSend(); err != nil {
		return err
	}
	return s.RecvMsg(new(wrapperspb.StringValue))
}

func event(t *testing.T) context.Context {
	return runtimetest.WithEvent(t.Context(), "billing", uuid.MustParse("01932c07-5d1a-7bbb-8f3e-6f1f0a3b9c2d"))
}

func keyOf(t *testing.T, step string) string {
	t.Helper()
	key, err := runtime.IdempotencyKey(event(t), step)
	if err != nil {
		t.Fatal(err)
	}
	return key.String()
}

func (b *bank) saw(t *testing.T, want ...string) {
	t.Helper()
	if got := b.taken(); !slices.Equal(got, want) {
		t.Errorf("the server saw keys %q, want %q", got, want)
	}
}

func TestACallGetsTheKeyOfItsStep(t *testing.T) {
	b := newBank(t, grpcidem.Options{})
	if err := b.call(runtime.WithStep(event(t), "transfer"), transfer, "10"); err != nil {
		t.Fatal(err)
	}
	b.saw(t, keyOf(t, "transfer"))
}

func TestAStreamGetsTheKeyOfItsStep(t *testing.T) {
	b := newBank(t, grpcidem.Options{})
	if err := b.stream(runtime.WithStep(event(t), "upload")); err != nil {
		t.Fatal(err)
	}
	b.saw(t, keyOf(t, "upload"))
}

func TestTheMetadataKeyCanBeNamed(t *testing.T) {
	b := newBank(t, grpcidem.Options{MetadataKey: "x-request-key"})
	if err := b.call(runtime.WithStep(event(t), "transfer"), transfer, "10"); err != nil {
		t.Fatal(err)
	}
	b.saw(t, keyOf(t, "transfer"))
}

func TestOtherMetadataStaysBesideTheKey(t *testing.T) {
	b := newBank(t, grpcidem.Options{})
	b.header = "tenant"
	if err := b.call(metadata.AppendToOutgoingContext(event(t), "tenant", "blue"), transfer, "10"); err != nil {
		t.Fatal(err)
	}
	b.saw(t, "blue")
}

func TestACallOutsideOfAHandlerIsNotSent(t *testing.T) {
	b := newBank(t, grpcidem.Options{})
	if err := b.call(t.Context(), transfer, "10"); !errors.Is(err, runtime.ErrNoEvent) {
		t.Errorf("the call returned %v, want ErrNoEvent", err)
	}
	if err := b.stream(t.Context()); !errors.Is(err, runtime.ErrNoEvent) {
		t.Errorf("the stream returned %v, want ErrNoEvent", err)
	}
	b.saw(t)
}

func TestAKeyOfTheCallersOwnIsLeftAlone(t *testing.T) {
	b := newBank(t, grpcidem.Options{})
	own := metadata.AppendToOutgoingContext(t.Context(), "Idempotency-Key", "my own")
	if err := b.call(own, transfer, "10"); err != nil {
		t.Fatal(err)
	}
	b.saw(t, "my own")
}

func TestAnEmptyKeyOfTheCallersIsReplaced(t *testing.T) {
	b := newBank(t, grpcidem.Options{})
	ctx := metadata.AppendToOutgoingContext(runtime.WithStep(event(t), "transfer"), "idempotency-key", "")
	if err := b.call(ctx, transfer, "10"); err != nil {
		t.Fatal(err)
	}
	b.saw(t, keyOf(t, "transfer"))
}

func TestReadOnlyMethodsPass(t *testing.T) {
	b := newBank(t, grpcidem.Options{ReadOnly: func(method string) bool { return method == balance }})
	if err := b.call(t.Context(), balance, ""); err != nil {
		t.Error(err)
	}
	b.saw(t, "")
}

// TestAMethodThatSaysToHaveNoSideEffectsPasses registers a descriptor as generated code
// does.
func TestAMethodThatSaysToHaveNoSideEffectsPasses(t *testing.T) {
	message := ".google.protobuf.StringValue"
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("shop.proto"), Package: proto.String("shop"), Syntax: proto.String("proto3"),
		Dependency: []string{"google/protobuf/wrappers.proto"},
		Service: []*descriptorpb.ServiceDescriptorProto{{
			Name: proto.String("Shop"),
			Method: []*descriptorpb.MethodDescriptorProto{
				{Name: proto.String("Look"), InputType: &message, OutputType: &message, Options: &descriptorpb.MethodOptions{
					IdempotencyLevel: descriptorpb.MethodOptions_NO_SIDE_EFFECTS.Enum()}},
				{Name: proto.String("Buy"), InputType: &message, OutputType: &message},
			},
		}},
	}, protoregistry.GlobalFiles)
	if err != nil {
		t.Fatal(err)
	}
	if err := protoregistry.GlobalFiles.RegisterFile(file); err != nil {
		t.Fatal(err)
	}
	b := newBank(t, grpcidem.Options{})
	if err := b.call(t.Context(), "/shop.Shop/Look", ""); status.Code(err) != codes.Unimplemented {
		t.Errorf("looking returned %v, want it sent to a server that has no such method", err)
	}
	if err := b.call(t.Context(), "/shop.Shop/Buy", ""); !errors.Is(err, runtime.ErrNoEvent) {
		t.Errorf("buying returned %v, want ErrNoEvent", err)
	}
}

func TestTwoCallsOfOneEventDoNotShareAKey(t *testing.T) {
	for name, tc := range map[string]struct {
		step          string
		first, second string
		failed        bool
		refused       bool
	}{
		"another message":                 {"", "1", "2", false, true},
		"the same again after a success":  {"", "1", "1", false, true},
		"the same again after a failure":  {"", "1", "1", true, false},
		"another message after a failure": {"", "1", "2", true, true},
		"another message in one step":     {"x", "1", "2", false, true},
		"the same in one step":            {"x", "1", "1", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBank(t, grpcidem.Options{})
			if tc.failed {
				b.fail = 1
			}
			ctx := runtime.WithStep(event(t), tc.step)
			if err := b.call(ctx, transfer, tc.first); (err != nil) != tc.failed {
				t.Fatal(err)
			}
			if err := b.call(ctx, transfer, tc.second); errors.Is(err, runtime.ErrSharedKey) != tc.refused {
				t.Errorf("the second call returned %v, want it refused: %v", err, tc.refused)
			}
			if got, want := len(b.taken()), map[bool]int{true: 1, false: 2}[tc.refused]; got != want {
				t.Errorf("%d calls were sent, want %d", got, want)
			}
		})
	}
}

func TestASecondStreamIsOpenedInAStepOnlyAfterTheFirstFailed(t *testing.T) {
	for _, failed := range []bool{false, true} {
		b := newBank(t, grpcidem.Options{})
		if failed {
			b.fail = 1
		}
		ctx := runtime.WithStep(event(t), "upload")
		if err := b.stream(ctx); (err != nil) != failed {
			t.Fatal(err)
		}
		if err := b.stream(ctx); errors.Is(err, runtime.ErrSharedKey) == failed {
			t.Errorf("the first failed: %v; the second returned %v", failed, err)
		}
	}
}
