// Package labels prints a label for every picked order: four workers take the messages out of a channel.
package labels

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"
)

type Printer struct {
	reader *kafka.Reader
	client *http.Client
	url    string
}

func (p *Printer) Run(ctx context.Context) error {
	jobs := make(chan kafka.Message)
	g, ctx := errgroup.WithContext(ctx)
	for range 4 {
		g.Go(func() error { return p.worker(ctx, jobs) })
	}
	g.Go(func() error {
		defer close(jobs)
		for {
			m, err := p.reader.FetchMessage(ctx)
			if err != nil {
				return err
			}
			jobs <- m
		}
	})
	return g.Wait()
}

func (p *Printer) worker(ctx context.Context, jobs <-chan kafka.Message) error {
	for m := range jobs { // want R-KFK-IDEM-X1
		resp, err := p.client.Post(p.url, "application/json", bytes.NewReader(m.Value))
		if err != nil {
			return fmt.Errorf("print: %w", err)
		}
		resp.Body.Close()
		if err := p.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
