// Package tickets gives money back with http.PostForm, which takes no header.
package tickets

import (
	"context"
	"net/http"
	"net/url"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"

	"example.com/fixtures/r4/inbox"
)

// ShowCancelled is the event.
type ShowCancelled struct {
	EventID string `json:"event_id"`
	Charge  string `json:"charge"`
}

// Key is the event's id.
func (e ShowCancelled) Key() string { return e.EventID }

// Service gives money back.
type Service struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

const api = "https://api.stripe.com/v1"

// Run listens.
func (s *Service) Run(ctx context.Context) error {
	return inbox.Listen(ctx, s.reader, s.pool, s.onShowCancelled)
}

func (s *Service) onShowCancelled(_ context.Context, evt ShowCancelled) error {
	resp, err := http.PostForm(api+"/disputes/"+evt.Charge+"/close", url.Values{"key": {evt.EventID}}) // want R-KFK-IDEM-4
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
