package fetch_errors_logged

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Scales struct {
	client *kgo.Client
	pool   *pgxpool.Pool
	log    *slog.Logger
}

type parcel struct {
	EventID string `json:"eventId"`
	Grams   int    `json:"grams"`
}

// Run hands every record on; what it is told about errors is no record.
func (s *Scales) Run(ctx context.Context) error {
	handlers := map[string]func(context.Context, *kgo.Record) error{"parcels.added": s.added, "parcels.weighed": s.weighed}
	for {
		fetches := s.client.PollFetches(ctx)
		if fetches.IsClientClosed() {
			return nil
		}
		fetches.EachError(func(topic string, partition int32, err error) { s.log.Error("fetch", "topic", topic, "err", err) })
		for it := fetches.RecordIter(); !it.Done(); {
			rec := it.Next()
			if h, ok := handlers[rec.Topic]; ok {
				if err := h(ctx, rec); err != nil {
					return err
				}
			}
		}
		if err := s.client.CommitUncommittedOffsets(ctx); err != nil {
			return err
		}
	}
}

func (s *Scales) added(ctx context.Context, rec *kgo.Record) error {
	var p parcel
	if err := json.Unmarshal(rec.Value, &p); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, "INSERT INTO processed_event (event_id) VALUES ($1) ON CONFLICT DO NOTHING", p.EventID)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE pallet SET grams = grams + $1", p.Grams)
		return err
	})
}

func (s *Scales) weighed(ctx context.Context, rec *kgo.Record) error { // want R-KFK-IDEM-X1
	var p parcel
	if err := json.Unmarshal(rec.Value, &p); err != nil {
		return err
	}
	_, err := s.pool.Exec(ctx, "UPDATE pallet SET grams = grams + $1", p.Grams)
	return err
}
