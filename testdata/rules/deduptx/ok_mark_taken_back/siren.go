// Package ok_mark_taken_back takes its mark back when the remote call after it has failed.
package ok_mark_taken_back

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/segmentio/kafka-go"
)

type alert struct {
	EventID string `json:"event_id"`
	Site    string `json:"site"`
}

type Siren struct {
	reader *kafka.Reader
	pool   *pgxpool.Pool
}

var errSeen = errors.New("seen before")

func (s *Siren) Run(ctx context.Context) error {
	for {
		m, err := s.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := s.sound(ctx, m); err != nil {
			return err
		}
		if err := s.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (s *Siren) sound(ctx context.Context, m kafka.Message) error {
	var a alert
	if err := json.Unmarshal(m.Value, &a); err != nil {
		return err
	}
	switch err := s.mark(ctx, a.EventID); {
	case errors.Is(err, errSeen):
		return nil
	case err != nil:
		return err
	}
	resp, err := http.Post("http://siren.local/"+a.Site, "text/plain", nil)
	if err != nil {
		return errors.Join(err, s.unmark(ctx, a.EventID))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return errors.Join(errors.New(resp.Status), s.unmark(ctx, a.EventID))
	}
	return nil
}

func (s *Siren) mark(ctx context.Context, id string) error {
	_, err := s.pool.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1)`, id)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "23505" {
		return errSeen
	}
	return err
}

func (s *Siren) unmark(ctx context.Context, id string) error {
	_, err := s.pool.Exec(ctx, `DELETE FROM processed_event WHERE event_id = $1`, id)
	return err
}
