// Package bridges reports open bridges.
package bridges

import (
	"context"

	"github.com/google/uuid"

	"example.com/fixtures/payloadid/generic_publisher/pub"
)

type BridgeOpened struct {
	Bridge string `json:"bridge"`
	Ships  int    `json:"ships"`
}

type Service struct {
	pub *pub.Publisher
}

func (s *Service) Opened(ctx context.Context, bridge string, ships int) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	return s.pub.Publish(ctx, "bridges.opened", id.String(), BridgeOpened{Bridge: bridge, Ships: ships})
}
