package runtime

import (
	"context"
	"fmt"
	"time"
)

const (
	// backlogInterval is the time between two counts of what is unsent.
	backlogInterval = 10 * time.Second
	// backlogMost is where a count ends: beyond it the figure says nothing new, and
	// counting would cost what publishing needs.
	backlogMost = 100_000
)

// A RelayBacklog is what waits in the outbox.
type RelayBacklog struct {
	// Unsent are the messages that are committed and not marked as sent, counted up to
	// 100,000.
	Unsent int64
	// Oldest is when the first of them was emitted, on this process's clock; the zero
	// time if there is none.
	Oldest time.Time
	// Counted is when this was so; the zero time for a relay that does not lead, which
	// knows nothing of it.
	Counted time.Time
}

// weigh counts what is unsent, from time to time. The ages are PostgreSQL's, so that
// two clocks are never compared.
func (s *relaySession) weigh(ctx context.Context) error {
	r := s.relay
	if time.Since(s.weighed) < backlogInterval {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, relayAnswerTimeout)
	defer cancel()
	var unsent int64
	var age *float64
	err := s.conn.QueryRow(ctx, `
		SELECT count(*), extract(epoch FROM clock_timestamp() - min(created_at))::float8 FROM
		(SELECT created_at FROM `+s.box.table+` WHERE sent_at IS NULL ORDER BY seq LIMIT $1) AS unsent`, backlogMost).Scan(&unsent, &age)
	if err != nil {
		return fmt.Errorf("counting unsent messages: %w", err)
	}
	s.weighed = time.Now()
	b := RelayBacklog{Unsent: unsent, Counted: s.weighed}
	if age != nil {
		b.Oldest = s.weighed.Add(-time.Duration(*age * float64(time.Second)))
	}
	r.count(func(c *RelayStats) { c.Backlog = b })
	return nil
}
