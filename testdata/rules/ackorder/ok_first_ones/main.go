// Command main commits the first ones of a batch, up to the one that failed.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"github.com/twmb/franz-go/pkg/kgo"
)

func apply(ctx context.Context, db *sql.DB, raw []byte) error {
	var e struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, `INSERT INTO names (event_id, name) VALUES ($1, $2) ON CONFLICT (event_id) DO NOTHING`, e.ID, e.Name)
	return err
}

func run(ctx context.Context, cl *kgo.Client, db *sql.DB) error {
	for {
		recs := cl.PollFetches(ctx).Records()
		ok := 0
		for _, r := range recs {
			if err := apply(ctx, db, r.Value); err != nil {
				break
			}
			ok++
		}
		recs = recs[:ok]
		if err := cl.CommitRecords(ctx, recs...); err != nil {
			return err
		}
	}
}

func main() { run(context.Background(), nil, nil) }
