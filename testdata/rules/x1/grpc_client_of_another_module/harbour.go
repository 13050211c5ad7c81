// Package harbour calls a service whose generated client is in another module.
package harbour

import (
	"context"
	"fmt"

	"example.com/berths/berthpb"
	"github.com/segmentio/kafka-go"
)

// Harbour asks for berths.
type Harbour struct{ berths berthpb.BerthServiceClient }

func (h *Harbour) arrived(ctx context.Context, msg kafka.Message) error { // want R-KFK-IDEM-X1
	_, err := h.berths.AssignBerth(ctx, &berthpb.Berth{Ship: string(msg.Value)})
	return err
}

func (h *Harbour) asked(ctx context.Context, msg kafka.Message) error {
	p, err := h.berths.GetBerth(ctx, &berthpb.Berth{Ship: string(msg.Value)})
	if err != nil {
		return err
	}
	fmt.Println(p.Number)
	return nil
}

// Run handles what ships send.
func Run(ctx context.Context, r *kafka.Reader, h *Harbour) error {
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if msg.Topic == "arrivals" {
			err = h.arrived(ctx, msg)
		} else {
			err = h.asked(ctx, msg)
		}
		if err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
