// Package mail marks in the transaction without a conflict clause; a repeat fails in one handler, and passes in the other.
package mail

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/segmentio/kafka-go"
)

type Posted struct {
	EventID string `json:"event_id"`
	Text    string `json:"text"`
}

var errKnown = errors.New("known")

func violates(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

func receive(ctx context.Context, tx *sql.Tx, id string) error {
	if _, err := tx.ExecContext(ctx, `INSERT INTO inbox_letters (event_id) VALUES ($1)`, id); err != nil { // want R-KFK-IDEM-2
		if violates(err) {
			return fmt.Errorf("letter %s is there already: %w", id, err)
		}
		return fmt.Errorf("receive: %w", err)
	}
	return nil
}

func mark(ctx context.Context, db *sql.DB, id string) error {
	if _, err := db.ExecContext(ctx, `INSERT INTO inbox_parcels (event_id) VALUES ($1)`, id); err != nil {
		if violates(err) {
			return fmt.Errorf("%w: %s", errKnown, id)
		}
		return err
	}
	return nil
}

func Prune(ctx context.Context, db *sql.DB) error {
	for _, q := range []string{`DELETE FROM inbox_letters WHERE received_at < $1`, `DELETE FROM inbox_parcels WHERE received_at < $1`} {
		if _, err := db.ExecContext(ctx, q, time.Now().AddDate(0, -1, 0)); err != nil {
			return err
		}
	}
	return nil
}

type Office struct {
	db  *sql.DB
	out *kafka.Writer
}

// Letter returns the violation: the message comes again and again.
func (o *Office) Letter(ctx context.Context, m kafka.Message) error {
	var e Posted
	if err := json.Unmarshal(m.Value, &e); err != nil {
		return err
	}
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := receive(ctx, tx, e.EventID); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO letters (text) VALUES ($1)`, e.Text); err != nil {
		return err
	}
	return tx.Commit()
}

// Parcel takes it for what it is, two calls up.
func (o *Office) Parcel(ctx context.Context, m kafka.Message) error {
	var e Posted
	if err := json.Unmarshal(m.Value, &e); err != nil {
		return err
	}
	switch err := mark(ctx, o.db, e.EventID); {
	case errors.Is(err, errKnown):
		return nil
	case err != nil:
		return err
	}
	return o.out.WriteMessages(ctx, kafka.Message{Topic: "parcels", Value: m.Value})
}

func Run(ctx context.Context, in *kafka.Reader, handle func(context.Context, kafka.Message) error) error {
	for {
		m, err := in.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := handle(ctx, m); err != nil {
			return err
		}
		if err := in.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func Main(ctx context.Context, letters, parcels *kafka.Reader, o *Office) error {
	go Prune(ctx, o.db)
	go Run(ctx, letters, o.Letter)
	return Run(ctx, parcels, o.Parcel)
}
