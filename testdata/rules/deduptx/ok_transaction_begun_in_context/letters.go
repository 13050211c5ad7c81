// Package letters begins its transaction in a method that gives back the context with it, and ends it in a deferred
// function.
package letters

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/jmoiron/sqlx"
	"github.com/segmentio/kafka-go"
)

type contextKey string

var handleKey contextKey = "handle"

type handle interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

type beginner interface {
	begin(ctx context.Context) (context.Context, *sqlx.Tx, error)
}

type store struct{ db *sqlx.DB }

func (s *store) begin(ctx context.Context) (context.Context, *sqlx.Tx, error) {
	tx, err := s.db.BeginTxx(ctx, nil)
	if err != nil {
		return ctx, nil, err
	}
	return context.WithValue(ctx, handleKey, tx), tx, nil
}

func (s *store) from(ctx context.Context) handle {
	if h, ok := ctx.Value(handleKey).(handle); ok && h != nil {
		return h
	}
	return s.db
}

func (s *store) do(ctx context.Context, fn func(context.Context) error) (err error) {
	return within(ctx, s, fn)
}

func within(ctx context.Context, b beginner, fn func(context.Context) error) (err error) {
	ctx, tx, err := b.begin(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil {
			_ = tx.Rollback()
			panic(p)
		}
		if err != nil {
			_ = tx.Rollback()
			return
		}
		if e := tx.Commit(); e != nil {
			err = e
		}
	}()
	err = fn(ctx)
	return err
}

func (s *store) first(ctx context.Context, id string) (bool, error) {
	res, err := s.from(ctx).ExecContext(ctx, `INSERT INTO processed_letters (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return false, fmt.Errorf("mark: %w", err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

func (s *store) file(ctx context.Context, body []byte) error {
	_, err := s.from(ctx).ExecContext(ctx, `INSERT INTO letters (body) VALUES ($1)`, body)
	return err
}

// Run files letters.
func Run(ctx context.Context, r *kafka.Reader, db *sqlx.DB) error {
	s := &store{db}
	for {
		msg, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		var e struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(msg.Value, &e); err != nil {
			return err
		}
		err = s.do(ctx, func(ctx context.Context) error {
			fresh, err := s.first(ctx, e.ID)
			if err != nil || !fresh {
				return err
			}
			return s.file(ctx, msg.Value)
		})
		if err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, msg); err != nil {
			return err
		}
	}
}
