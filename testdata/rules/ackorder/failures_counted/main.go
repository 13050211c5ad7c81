// Command main counts what its workers could not do, and commits all the same.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"github.com/twmb/franz-go/pkg/kgo"
	"sync"
	"sync/atomic"
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
		var wg sync.WaitGroup
		var failures atomic.Int64
		for _, r := range recs {
			wg.Go(func() {
				if err := apply(ctx, db, r.Value); err != nil {
					failures.Add(1)
				}
			})
		}
		wg.Wait()
		if failures.Load() > 0 {
			println(failures.Load())
		}
		if err := cl.CommitRecords(ctx, recs...); err != nil { // want R-KFK-IDEM-3
			return err
		}
	}
}

func main() { run(context.Background(), nil, nil) }
