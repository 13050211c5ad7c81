// Package profiles mirrors profiles, which is idempotent, and tells others about it, which is not.
package profiles

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Changed struct {
	EventID string `json:"event_id"`
	User    int64  `json:"user"`
	Name    string `json:"name"`
}

type Mirror struct {
	cl   *kgo.Client
	pool *pgxpool.Pool
}

func (m *Mirror) Run(ctx context.Context) error {
	for {
		fs := m.cl.PollFetches(ctx)
		if err := fs.Err(); err != nil {
			return err
		}
		for _, rec := range fs.Records() {
			if err := m.apply(ctx, rec); err != nil {
				return err
			}
		}
		if err := m.cl.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (m *Mirror) apply(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var evt Changed
	if err := json.Unmarshal(rec.Value, &evt); err != nil {
		return err
	}
	_, err := m.pool.Exec(ctx, `INSERT INTO profiles (id, name) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET name = EXCLUDED.name`, evt.User, evt.Name)
	if err != nil {
		return err
	}
	return m.cl.ProduceSync(ctx, &kgo.Record{Topic: "profiles.mirrored", Key: rec.Key, Value: rec.Value}).FirstErr()
}
