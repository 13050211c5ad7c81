// Package well polls records of its own making, which a callback gathers, and hands them to workers over a channel.
package well

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/fixtures/x1/gathered_by_callback/source"
)

type Drawn struct {
	Well   string `json:"well"`
	Litres int64  `json:"litres"`
}

type Meter struct {
	source *source.Source
	pool   *pgxpool.Pool
	wg     sync.WaitGroup
	stop   chan struct{}
}

func (m *Meter) Start(ctx context.Context) error {
	records := make(chan *source.Record, 10)
	for range 4 {
		m.wg.Add(1)
		go m.work(ctx, records)
	}
	m.wg.Add(1)
	go m.poll(ctx, records)
	return nil
}

func (m *Meter) poll(ctx context.Context, out chan<- *source.Record) {
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

func (m *Meter) work(ctx context.Context, in <-chan *source.Record) {
	defer m.wg.Done()
	for r := range in { // want R-KFK-IDEM-X1
		if err := m.add(ctx, r); err != nil {
			slog.Error("add", "error", err)
		}
	}
}

func (m *Meter) add(ctx context.Context, r *source.Record) error {
	var d Drawn
	if err := json.Unmarshal(r.Value, &d); err != nil {
		return err
	}
	_, err := m.pool.Exec(ctx, `UPDATE wells SET litres = litres + $2 WHERE name = $1`, d.Well, d.Litres)
	return err
}
