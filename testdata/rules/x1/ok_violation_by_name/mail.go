// Package ok_violation_by_name knows a taken key by what the driver calls it, or by the state that an error has.
package ok_violation_by_name

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/smtp"

	"github.com/lib/pq"
	"github.com/segmentio/kafka-go"
)

type letter struct {
	EventID string `json:"event_id"`
	To      string `json:"to"`
}

type Post struct {
	reader *kafka.Reader
	db     *sql.DB
}

func (p *Post) Run(ctx context.Context) error {
	for {
		m, err := p.reader.FetchMessage(ctx)
		if err != nil {
			return err
		}
		if err := p.send(ctx, m); err != nil {
			return err
		}
		if err := p.copy(ctx, m); err != nil {
			return err
		}
		if err := p.reader.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}

func (p *Post) send(ctx context.Context, m kafka.Message) error {
	var l letter
	if err := json.Unmarshal(m.Value, &l); err != nil {
		return err
	}
	if _, err := p.db.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1)`, l.EventID); err != nil {
		if refused, ok := err.(*pq.Error); ok && refused.Code.Name() == "unique_violation" {
			return nil
		}
		return err
	}
	return smtp.SendMail("mail.local:25", nil, "post@local", []string{l.To}, nil)
}

func (p *Post) copy(ctx context.Context, m kafka.Message) error {
	var l letter
	if err := json.Unmarshal(m.Value, &l); err != nil {
		return err
	}
	if _, err := p.db.ExecContext(ctx, `INSERT INTO processed_event (event_id) VALUES ($1)`, "copy:"+l.EventID); err != nil {
		var state interface{ SQLState() string }
		if errors.As(err, &state) && state.SQLState() == "23505" {
			return nil
		}
		return err
	}
	return smtp.SendMail("mail.local:25", nil, "post@local", []string{"archive@local"}, nil)
}
