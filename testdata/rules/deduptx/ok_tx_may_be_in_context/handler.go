// Package stables feeds horses. Whoever calls may have put a transaction into the context; without one the repository
// writes on the pool.
package stables

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type txKey struct{}

type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

type Repo struct {
	pool *pgxpool.Pool
}

func (r *Repo) conn(ctx context.Context) querier {
	if tx, ok := ctx.Value(txKey{}).(pgx.Tx); ok {
		return tx
	}
	return r.pool
}

func (r *Repo) First(ctx context.Context, id string) (bool, error) {
	tag, err := r.conn(ctx).Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, id)
	return err == nil && tag.RowsAffected() == 1, err
}

func (r *Repo) Feed(ctx context.Context, horse string) error {
	_, err := r.conn(ctx).Exec(ctx, `UPDATE horses SET meals = meals + 1 WHERE name = $1`, horse)
	return err
}

type HorseHungry struct {
	EventID string `json:"event_id"`
	Horse   string `json:"horse"`
}

type Handler struct {
	repo *Repo
}

func (h *Handler) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt HorseHungry
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	fresh, err := h.repo.First(ctx, evt.EventID)
	if err != nil || !fresh {
		return err
	}
	return h.repo.Feed(ctx, evt.Horse)
}
