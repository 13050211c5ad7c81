// Package catalog keeps a file of what it sold; only the name of a log makes a file one.
package catalog

import (
	"context"
	"os"

	"github.com/segmentio/kafka-go"
)

type Shop struct{ file, log *os.File }

func (s *Shop) Run(ctx context.Context, r *kafka.Reader) error {
	for {
		m, err := r.FetchMessage(ctx) // want R-KFK-IDEM-X1
		if err != nil {
			return err
		}
		if err := s.catalogEntry(m.Value); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (s *Shop) catalogEntry(line []byte) error {
	_, err := s.file.Write(line)
	return err
}

func (s *Shop) Trace(ctx context.Context, r *kafka.Reader) error {
	for {
		m, err := r.FetchMessage(ctx)
		if err != nil {
			return err
		}
		s.writeLog(m.Value)
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (s *Shop) writeLog(line []byte) { _, _ = s.log.Write(line) }
