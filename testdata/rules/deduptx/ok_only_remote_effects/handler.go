// Package gongs rings a gong over HTTP. A mark in the database with no other write to it has no transaction to share.
package gongs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type GongDue struct {
	EventID string `json:"event_id"`
	Hall    string `json:"hall"`
}

type Gongs struct {
	pool *pgxpool.Pool
	http *http.Client
}

func (g *Gongs) Handle(ctx context.Context, rec *kgo.Record) error {
	var evt GongDue
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	tag, err := g.pool.Exec(ctx, `INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING`, evt.EventID)
	if err != nil {
		return err
	}
	if tag.RowsAffected() == 0 {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://gong.example/"+evt.Hall, nil)
	if err != nil {
		return err
	}
	resp, err := g.http.Do(req)
	if err != nil {
		return fmt.Errorf("ring in %s: %w", evt.Hall, err)
	}
	return resp.Body.Close()
}
