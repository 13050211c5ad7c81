// Command rewards grants vouchers; transactions that fail on serialization are tried again.
// Command main tries a transaction again, and says of some errors that they are for good.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/lib/pq"
	"github.com/segmentio/kafka-go"
)

type SurveyDone struct {
	EventID string `json:"event_id"`
	UserID  string `json:"user_id"`
	Cents   int64  `json:"cents"`
}

type Tx struct{ *sql.Tx }

func (t *Tx) markProcessed(ctx context.Context, id string) (isNew bool, err error) {
	res, err := t.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return false, err
	}
	rows, err := res.RowsAffected()
	return rows == 1, err
}

func (t *Tx) addVoucher(ctx context.Context, user string, cents int64) error {
	_, err := t.ExecContext(ctx, `INSERT INTO vouchers (user_id, cents) VALUES ($1, $2)`, user, cents)
	return err
}

type DB struct{ *sql.DB }

func (db *DB) inTx(ctx context.Context, fn func(tx *Tx) error) (err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := fn(&Tx{tx}); err != nil {
		return err
	}
	return tx.Commit()
}

func (db *DB) retryTx(ctx context.Context, fn func(tx *Tx) error) error {
	op := func() error {
		err := db.inTx(ctx, fn)
		var pqErr *pq.Error
		if errors.As(err, &pqErr) && pqErr.Code == "40001" {
			return err
		}
		if err != nil {
			return backoff.Permanent(err)
		}
		return nil
	}
	b := backoff.NewExponentialBackOff()
	b.MaxElapsedTime = 5 * time.Second
	return backoff.Retry(op, backoff.WithContext(b, ctx))
}

type Service struct{ db *DB }

func (s *Service) OnSurveyDone(ctx context.Context, evt SurveyDone) error {
	return s.db.retryTx(ctx, func(tx *Tx) error {
		isNew, err := tx.markProcessed(ctx, evt.EventID)
		if err != nil {
			return fmt.Errorf("mark: %w", err)
		}
		if !isNew {
			return nil
		}
		return tx.addVoucher(ctx, evt.UserID, evt.Cents)
	})
}

func main() {
	ctx := context.Background()
	db, err := sql.Open("postgres", "postgres://localhost/rewards")
	if err != nil {
		log.Fatal(err)
	}
	s := &Service{db: &DB{db}}
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{"b:9092"}, GroupID: "rewards", Topic: "survey.done"})
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			log.Fatal(err)
		}
		var evt SurveyDone
		if err := json.Unmarshal(m.Value, &evt); err != nil {
			log.Printf("malformed: %v", err)
		} else if err := s.OnSurveyDone(ctx, evt); err != nil {
			log.Fatal(err)
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			log.Fatal(err)
		}
	}
}
