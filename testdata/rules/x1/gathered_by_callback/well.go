// Package well polls records of its own making, which a callback gathers, and hands them to workers over a channel.
package well

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
)

type Record struct {
	Topic   string
	Offset  int64
	Value   []byte
	Headers map[string]string
}

type Source struct {
	mu     sync.RWMutex
	closed bool
	client *kgo.Client
}

func (s *Source) Poll(ctx context.Context) ([]*Record, error) {
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return nil, fmt.Errorf("source is closed")
	}
	s.mu.RUnlock()
	fetches := s.client.PollFetches(ctx)
	if errs := fetches.Errors(); len(errs) > 0 {
		for _, err := range errs {
			return nil, fmt.Errorf("poll %s/%d: %w", err.Topic, err.Partition, err.Err)
		}
	}
	var records []*Record
	fetches.EachRecord(func(r *kgo.Record) {
		headers := make(map[string]string)
		for _, h := range r.Headers {
			headers[h.Key] = string(h.Value)
		}
		records = append(records, &Record{Topic: r.Topic, Offset: r.Offset, Value: r.Value, Headers: headers})
	})
	return records, nil
}

type Drawn struct {
	Well   string `json:"well"`
	Litres int64  `json:"litres"`
}

type Meter struct {
	source *Source
	pool   *pgxpool.Pool
	wg     sync.WaitGroup
	stop   chan struct{}
}

func (m *Meter) Start(ctx context.Context) error {
	records := make(chan *Record, 10)
	for range 4 {
		m.wg.Add(1)
		go m.work(ctx, records)
	}
	m.wg.Add(1)
	go m.poll(ctx, records)
	return nil
}

func (m *Meter) poll(ctx context.Context, out chan<- *Record) {
	defer m.wg.Done()
	defer close(out)
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.stop:
			return
		default:
			records, err := m.source.Poll(ctx)
			if err != nil {
				if ctx.Err() != nil {
					return
				}
				time.Sleep(time.Second)
				continue
			}
			for _, r := range records {
				select {
				case out <- r:
				case <-ctx.Done():
					return
				case <-m.stop:
					return
				}
			}
		}
	}
}

func (m *Meter) work(ctx context.Context, in <-chan *Record) {
	defer m.wg.Done()
	for r := range in { // want R-KFK-IDEM-X1
		if err := m.add(ctx, r); err != nil {
			slog.Error("add", "error", err)
		}
	}
}

func (m *Meter) add(ctx context.Context, r *Record) error {
	var d Drawn
	if err := json.Unmarshal(r.Value, &d); err != nil {
		return err
	}
	_, err := m.pool.Exec(ctx, `UPDATE wells SET litres = litres + $2 WHERE name = $1`, d.Well, d.Litres)
	return err
}
