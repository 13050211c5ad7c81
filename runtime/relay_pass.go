package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// relaySession is the leader's connection.
type relaySession struct {
	relay *Relay
	conn  *pgx.Conn
	box   outbox

	reading time.Duration // how long the last look took
	weighed time.Time     // when what is unsent was counted
}

// An outgoing is an unsent message.
type outgoing struct {
	seq int64
	rec *kgo.Record
}

// A relayLane is what must be published in order: the messages of a topic and key, or
// one message without a key.
type relayLane struct {
	topic, key string
	seq        int64 // of a message without a key, else 0
}

// pass publishes what is unsent and not blocked, at most a batch, and marks it as sent.
// more says that there is more to publish now.
func (s *relaySession) pass(ctx context.Context) (more bool, err error) {
	r := s.relay
	unsent, err := s.read(ctx)
	if err != nil || len(unsent) == 0 {
		return false, err
	}
	if err := r.step(seam.AfterRelayRead); err != nil {
		return false, err
	}
	sent, failures := r.publish(ctx, lanesOf(unsent))
	if err := r.step(seam.AfterRelaySend); err != nil {
		return false, err
	}
	if err := s.mark(ctx, sent); err != nil {
		return false, err
	}
	if err := r.step(seam.AfterRelayMark); err != nil {
		return false, err
	}
	r.count(func(c *RelayStats) {
		c.Sent += int64(len(sent))
		c.Failed += int64(len(failures))
	})
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	r.blocked.note(time.Now(), failures, func(attempt int, err error) { r.failed(attempt, err) })
	return len(unsent) == r.cfg.BatchSize && len(sent) > 0, nil
}

// read takes unsent messages in one snapshot, so that it sees none without those that
// were committed before it was inserted.
func (s *relaySession) read(ctx context.Context) ([]outgoing, error) {
	ctx, cancel := context.WithTimeout(ctx, relayAnswerTimeout)
	defer cancel()
	began := time.Now()
	defer func() { s.reading = time.Since(began) }()
	topics, laneTopics, laneKeys, seqs := s.relay.blocked.lists(time.Now())
	rows, err := s.conn.Query(ctx, `
		SELECT seq, topic, key, value, header_keys, header_values FROM `+s.box.table+`
		WHERE sent_at IS NULL AND topic <> ALL ($1) AND seq <> ALL ($4)
		  AND NOT EXISTS (SELECT FROM unnest($2::text[], $3::bytea[]) AS b (t, k) WHERE b.t = topic AND b.k = key)
		ORDER BY seq LIMIT $5`, topics, laneTopics, laneKeys, seqs, s.relay.cfg.BatchSize)
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	unsent, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (outgoing, error) {
		m := outgoing{rec: &kgo.Record{}}
		var keys, values [][]byte
		err := row.Scan(&m.seq, &m.rec.Topic, &m.rec.Key, &m.rec.Value, &keys, &values)
		for i := range min(len(keys), len(values)) {
			m.rec.Headers = append(m.rec.Headers, kgo.RecordHeader{Key: string(keys[i]), Value: values[i]})
		}
		return m, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the outbox: %w", err)
	}
	return unsent, nil
}

// lanesOf sorts messages, which ascend, into lanes.
func lanesOf(unsent []outgoing) map[relayLane][]outgoing {
	lanes := make(map[relayLane][]outgoing)
	for _, m := range unsent {
		lane := relayLane{topic: m.rec.Topic, key: string(m.rec.Key)}
		if m.rec.Key == nil {
			lane.seq = m.seq
		}
		lanes[lane] = append(lanes[lane], m)
	}
	return lanes
}

// publish writes all lanes side by side, and in each one message after the other: were
// two of them on their way at once, the broker could refuse the first and take the second.
// It returns what was written, and why lanes came to a stop.
func (r *Relay) publish(ctx context.Context, lanes map[relayLane][]outgoing) (sent []int64, failures map[relayLane]error) {
	failures = make(map[relayLane]error)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for lane, messages := range lanes {
		wg.Go(func() {
			var done []int64
			var failure error
			for _, m := range messages {
				if failure = r.producer.write(ctx, r.cfg.Timeout, m.rec); failure != nil {
					failure = fmt.Errorf("publishing message %d of the outbox: %w", m.seq, failure)
					break
				}
				done = append(done, m.seq)
			}
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, done...)
			if failure != nil {
				failures[lane] = failure
			}
		})
	}
	wg.Wait()
	return sent, failures
}

// mark notes that messages are sent. It is not cut off by the end of ctx: what is not
// marked is published again.
func (s *relaySession) mark(ctx context.Context, sent []int64) error {
	if len(sent) == 0 {
		return nil
	}
	slices.Sort(sent)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), offsetCommitTimeout)
	defer cancel()
	sql := `UPDATE ` + s.box.table + ` SET sent_at = clock_timestamp() WHERE seq = ANY ($1)`
	if s.relay.cfg.Retention < 0 {
		sql = `DELETE FROM ` + s.box.table + ` WHERE seq = ANY ($1)`
	}
	if _, err := s.conn.Exec(ctx, sql, sent); err != nil {
		return fmt.Errorf("marking %d messages as sent: %w", len(sent), err)
	}
	return nil
}

// tidyInterval is the time between two rounds of deletions.
const tidyInterval = time.Minute

// tidy deletes a batch of the messages that were sent longer ago than the retention. It
// tells whether there may be more.
func (s *relaySession) tidy(ctx context.Context) (more bool, err error) {
	const most = 5000
	r := s.relay
	if r.cfg.Retention < 0 || time.Since(r.cleaned) < min(tidyInterval, max(r.cfg.Retention, r.cfg.Interval)) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, relayAnswerTimeout)
	defer cancel()
	tag, err := s.conn.Exec(ctx, `DELETE FROM `+s.box.table+` WHERE seq = ANY (ARRAY(
		SELECT seq FROM `+s.box.table+` WHERE sent_at < clock_timestamp() - $1::interval ORDER BY sent_at LIMIT $2))`,
		r.cfg.Retention, most)
	if err != nil {
		return false, fmt.Errorf("deleting sent messages: %w", err)
	}
	r.count(func(c *RelayStats) { c.Deleted += tag.RowsAffected() })
	if tag.RowsAffected() == most {
		return true, nil
	}
	r.cleaned = time.Now()
	return false, nil
}

// blockedLanes are those that have failed and are left alone for a while. The zero value
// is ready.
type blockedLanes struct {
	lanes map[relayLane]*block
}

type block struct {
	attempt int
	until   time.Time
}

// whole is the lane that stands for a topic.
func whole(topic string) relayLane { return relayLane{topic: topic, seq: -1} }

// note takes in what a pass has failed with: a message's own failure blocks its lane, any
// other the topic, of which no other lane would fare better. The first failure of each
// is reported.
func (b *blockedLanes) note(now time.Time, failures map[relayLane]error, report func(attempt int, err error)) {
	noted := make(map[relayLane]bool)
	for lane, err := range failures {
		if !isMessagesFault(err) {
			lane = whole(lane.topic)
		}
		if noted[lane] {
			continue
		}
		noted[lane] = true
		if b.lanes == nil {
			b.lanes = make(map[relayLane]*block)
		}
		if b.lanes[lane] == nil {
			b.lanes[lane] = &block{}
		}
		at := b.lanes[lane]
		at.attempt++
		at.until = now.Add(min(100*time.Millisecond<<min(at.attempt, 10), relayPatience))
		report(at.attempt, err)
	}
	// One that was due and has not failed again is over it.
	maps.DeleteFunc(b.lanes, func(lane relayLane, at *block) bool { return !noted[lane] && at.until.Before(now) })
}

// lists are the blocked as the query wants them.
func (b *blockedLanes) lists(now time.Time) (topics, laneTopics []string, laneKeys [][]byte, seqs []int64) {
	topics, seqs = []string{}, []int64{}
	for lane, at := range b.lanes {
		switch {
		case at.until.Before(now):
		case lane.seq < 0:
			topics = append(topics, lane.topic)
		case lane.seq > 0:
			seqs = append(seqs, lane.seq)
		default:
			laneTopics, laneKeys = append(laneTopics, lane.topic), append(laneKeys, []byte(lane.key))
		}
	}
	return topics, laneTopics, laneKeys, seqs
}

// isMessagesFault tells whether the broker, or the client, has refused a message for what
// it is.
func isMessagesFault(err error) bool {
	return errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) ||
		errors.Is(err, kerr.InvalidRecord) || errors.Is(err, kerr.InvalidTimestamp)
}
