// Package wallets tops a wallet up with a key that is made once and stored before it is used.
package wallets

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
)

// TopUpAsked is the event.
type TopUpAsked struct {
	EventID string `json:"event_id"`
	Wallet  string `json:"wallet"`
}

// Inbox tells whether an event is new.
type Inbox interface {
	TryMark(ctx context.Context, eventID string) (bool, error)
}

// Service charges.
type Service struct {
	reader *kafka.Reader
	db     *sql.DB
	inbox  Inbox
	http   *http.Client
	psp    string
}

// Run handles event by event.
func (s *Service) Run(ctx context.Context) error {
	for {
		m, err := s.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var evt TopUpAsked
		if err := json.Unmarshal(m.Value, &evt); err != nil {
			return err
		}
		fresh, err := s.inbox.TryMark(ctx, evt.EventID)
		if err != nil {
			return err
		}
		if fresh {
			if err := s.topUp(ctx, evt); err != nil {
				return err
			}
		}
		if err := s.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (s *Service) topUp(ctx context.Context, evt TopUpAsked) error {
	key, err := s.keyOf(ctx, evt.EventID)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.psp+"/v1/charges", bytes.NewReader([]byte(evt.Wallet)))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := s.http.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (s *Service) keyOf(ctx context.Context, topUp string) (string, error) {
	var key string
	err := s.db.QueryRowContext(ctx, `SELECT provider_key FROM top_ups WHERE top_up = $1`, topUp).Scan(&key)
	if err == nil {
		return key, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	key = uuid.Must(uuid.NewRandom()).String()
	_, err = s.db.ExecContext(ctx, `INSERT INTO top_ups (top_up, provider_key) VALUES ($1, $2) ON CONFLICT (top_up) DO NOTHING`, topUp, key)
	return key, err
}
