// Package flush gathers a batch and writes it when it is full or when a timer fires.
package flush

import (
	"context"
	"database/sql"
	"log"
	"time"

	"github.com/IBM/sarama"
)

type H struct {
	db  *sql.DB
	buf []*sarama.ConsumerMessage
}

func (h *H) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *H) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *H) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	var batch []*sarama.ConsumerMessage
	for {
		select {
		case m, ok := <-c.Messages(): // want R-KFK-IDEM-X1
			if !ok {
				return nil
			}
			batch = append(batch, m)
		case <-t.C:
			for _, m := range batch {
				if _, err := h.db.ExecContext(s.Context(), "INSERT INTO ledger (amount) VALUES ($1)", string(m.Value)); err != nil {
					return err
				}
				s.MarkMessage(m, "")
			}
			batch = batch[:0]
		}
	}
}

type G struct {
	db  *sql.DB
	buf []*sarama.ConsumerMessage
}

func (h *G) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *G) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *G) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	for {
		select {
		case m, ok := <-c.Messages(): // want R-KFK-IDEM-X1
			if !ok {
				return nil
			}
			h.buf = append(h.buf, m)
		case <-t.C:
			h.flush(s)
		}
	}
}

func (h *G) flush(s sarama.ConsumerGroupSession) {
	for _, m := range h.buf {
		if _, err := h.db.ExecContext(s.Context(), "INSERT INTO ledger2 (amount) VALUES ($1)", string(m.Value)); err != nil {
			log.Print(err)
			return
		}
		s.MarkMessage(m, "")
	}
	h.buf = nil
}

type I struct{ db *sql.DB }

func (h *I) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (h *I) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *I) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	t := time.NewTicker(time.Minute)
	defer t.Stop()
	total := 0
	flush := func(ctx context.Context) error {
		_, err := h.db.ExecContext(ctx, "UPDATE totals SET n = n + $1", total)
		return err
	}
	for {
		select {
		case <-s.Context().Done():
			return nil
		case m, ok := <-c.Messages(): // want R-KFK-IDEM-X1
			if !ok {
				return nil
			}
			if _, err := h.db.ExecContext(s.Context(), "INSERT INTO ledger3 (amount) VALUES ($1)", string(m.Value)); err != nil {
				return err
			}
			s.MarkMessage(m, "")
			total += len(m.Value)
		case <-t.C:
			if err := flush(s.Context()); err != nil {
				return err
			}
		}
	}
}
