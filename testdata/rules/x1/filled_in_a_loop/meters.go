// Package meters copies what it needs of a message into a slice of its own, and works only where that says something.
package meters

import (
	"context"
	"database/sql"
	"errors"

	"github.com/segmentio/kafka-go"
)

// message is the client's, with methods of our own.
type message kafka.Message

type owner struct{ tenant, house string }

func (m *message) tags() []kafka.Header {
	out := make([]kafka.Header, len(m.Headers))
	for i, h := range m.Headers {
		out[i] = kafka.Header{Key: h.Key, Value: h.Value}
	}
	return out
}

func ownerOf(hs []kafka.Header) (*owner, error) {
	var o owner
	for _, h := range hs {
		if h.Key == "tenant" {
			o.tenant = string(h.Value)
		}
		if h.Key == "house" {
			o.house = string(h.Value)
		}
	}
	if o.tenant == "" && o.house == "" {
		return nil, errors.New("nobody's")
	}
	return &o, nil
}

func Poll(ctx context.Context, db *sql.DB, r *kafka.Reader) error {
	for {
		m, err := r.FetchMessage(ctx) // want R-KFK-IDEM-X1
		if err != nil {
			return err
		}
		own := message(m)
		o, err := ownerOf(own.tags())
		if err != nil {
			return err
		}
		if _, err := db.ExecContext(ctx, `UPDATE meters SET reads = reads + 1 WHERE tenant = $1`, o.tenant); err != nil {
			return err
		}
		if err := r.CommitMessages(ctx, m); err != nil {
			return err
		}
	}
}
