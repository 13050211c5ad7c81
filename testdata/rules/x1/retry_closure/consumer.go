// Package sms sends text messages: the call is wrapped in a retry of our own.
package sms

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type Sender struct {
	cl   *kgo.Client
	http *http.Client
}

func retry(ctx context.Context, times int, fn func() error) error {
	var err error
	for i := range times {
		if err = fn(); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(i) * time.Second):
		}
	}
	return err
}

func (s *Sender) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		s.cl.PollFetches(ctx).EachRecord(func(r *kgo.Record) { // want R-KFK-IDEM-X1
			err := retry(ctx, 3, func() error {
				resp, err := s.http.Post("https://sms.example/send", "text/plain", strings.NewReader(string(r.Value)))
				if err != nil {
					return err
				}
				return resp.Body.Close()
			})
			if err != nil {
				fmt.Println("not sent", err)
				return
			}
			s.cl.MarkCommitRecords(r)
		})
	}
	return ctx.Err()
}
