// Package berthpb is a generated client in a module of its own.
package berthpb

import (
	"context"

	"google.golang.org/grpc"
)

// Berth is a request.
type Berth struct{ Ship string }

// Place is a response.
type Place struct{ Number int32 }

// BerthServiceClient is the client.
type BerthServiceClient interface {
	AssignBerth(ctx context.Context, in *Berth, opts ...grpc.CallOption) (*Place, error)
	GetBerth(ctx context.Context, in *Berth, opts ...grpc.CallOption) (*Place, error)
}

type berthServiceClient struct{ cc grpc.ClientConnInterface }

// NewBerthServiceClient makes one.
func NewBerthServiceClient(cc grpc.ClientConnInterface) BerthServiceClient {
	return &berthServiceClient{cc}
}

func (c *berthServiceClient) AssignBerth(ctx context.Context, in *Berth, opts ...grpc.CallOption) (*Place, error) {
	out := new(Place)
	return out, c.cc.Invoke(ctx, "/berths.v1.BerthService/AssignBerth", in, out, opts...)
}

func (c *berthServiceClient) GetBerth(ctx context.Context, in *Berth, opts ...grpc.CallOption) (*Place, error) {
	out := new(Place)
	return out, c.cc.Invoke(ctx, "/berths.v1.BerthService/GetBerth", in, out, opts...)
}
