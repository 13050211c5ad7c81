// Command main takes a price over only where it is newer, and tells of it then.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/smtp"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type svc struct {
	pool *pgxpool.Pool
	cl   *kgo.Client
}

type priced struct {
	Listing string `json:"listing"`
	Version int64  `json:"version"`
	Cents   int64  `json:"cents"`
	Owner   string `json:"owner"`
}

func (s *svc) replace(ctx context.Context, p priced) (changed bool, err error) {
	var id string
	err = s.pool.QueryRow(ctx, `INSERT INTO listings (id, version, cents) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET version = EXCLUDED.version, cents = EXCLUDED.cents
		WHERE listings.version < EXCLUDED.version RETURNING id`, p.Listing, p.Version, p.Cents).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (s *svc) handle(ctx context.Context, rec *kgo.Record) error {
	var p priced
	if err := json.Unmarshal(rec.Value, &p); err != nil {
		return err
	}
	changed, err := s.replace(ctx, p)
	if err != nil {
		return err
	}
	if changed {
		return smtp.SendMail("mail:25", nil, "l@example.com", []string{p.Owner}, []byte("new price"))
	}
	return nil
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DSN"))
	if err != nil {
		log.Fatal(err)
	}
	cl, err := kgo.NewClient(kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"), kgo.DisableAutoCommit())
	if err != nil {
		log.Fatal(err)
	}
	s := &svc{pool: pool, cl: cl}
	for {
		fs := cl.PollFetches(ctx)
		if fs.IsClientClosed() {
			return
		}
		for _, rec := range fs.Records() {
			if err := s.handle(ctx, rec); err != nil {
				log.Fatal(err)
			}
		}
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			log.Fatal(err)
		}
	}
}
