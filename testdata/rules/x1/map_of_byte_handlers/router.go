// Package voyages routes by the event's type: the map is keyed by dotted names, and its functions know no Kafka type.
package voyages

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/segmentio/kafka-go"
)

type handler func(ctx context.Context, raw []byte) error

type Router struct {
	r      *kafka.Reader
	db     *sql.DB
	routes map[string]handler
}

func New(r *kafka.Reader, db *sql.DB) *Router {
	x := &Router{r: r, db: db}
	x.routes = map[string]handler{
		"voyage.departed": x.departed,
		"voyage.arrived":  x.arrived,
	}
	return x
}

func (x *Router) Run(ctx context.Context) error {
	for {
		m, err := x.r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		h, ok := x.routes[string(m.Key)]
		if !ok {
			return fmt.Errorf("no handler for %s", m.Key)
		}
		if err := h(ctx, m.Value); err != nil {
			return err
		}
		if err := x.r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (x *Router) departed(ctx context.Context, raw []byte) error { // want R-KFK-IDEM-X1
	var v struct {
		Ship int64 `json:"ship"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	_, err := x.db.ExecContext(ctx, `UPDATE ships SET voyages = voyages + 1 WHERE id = $1`, v.Ship)
	return err
}

func (x *Router) arrived(ctx context.Context, raw []byte) error { // want R-KFK-IDEM-X1
	var v struct {
		Ship int64 `json:"ship"`
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	_, err := x.db.ExecContext(ctx, `INSERT INTO arrivals (ship) VALUES ($1)`, v.Ship)
	return err
}
