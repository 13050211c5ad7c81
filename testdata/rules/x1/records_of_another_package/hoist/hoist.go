// Package hoist polls records and makes its own of them.
package hoist

import (
	"context"
	"fmt"
	"sync"

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
