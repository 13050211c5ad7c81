package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
)

// logbook keeps log lines as JSON.
type logbook struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logbook) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}))
}

// lines returns the lines with a message.
func (l *logbook) lines(t *testing.T, msg string) []map[string]any {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	for line := range strings.Lines(l.buf.String()) {
		fields := make(map[string]any)
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["msg"] == msg {
			out = append(out, fields)
		}
	}
	return out
}

func TestASkippedDuplicateIsAuditedWithTheTimeOfItsFirstProcessing(t *testing.T) {
	w := newWorld(t, 1)
	book := &logbook{}
	cfg := w.config()
	cfg.Logger = book.logger(slog.LevelDebug)
	events := orders(3, 1)
	w.produce(events...)
	w.start(cfg, w.queued)
	w.caughtUp()
	fresh := orders(1, 1)
	w.produce(fresh[0], events[1], events[1])
	w.caughtUp()
	w.eventually("two lines", func() bool { return len(book.lines(t, "duplicate skipped")) == 2 })

	var marked time.Time
	if err := w.pool.QueryRow(t.Context(), `SELECT processed_at FROM processed_event WHERE event_id = $1`, events[1].EventID).Scan(&marked); err != nil {
		t.Fatal(err)
	}
	for i, line := range book.lines(t, "duplicate skipped") {
		at, _ := line["processed_at"].(string)
		if got, err := time.Parse(time.RFC3339Nano, at); err != nil || !got.Equal(marked) {
			t.Errorf("processed at %q, want %s", at, marked)
		}
		if line["event_id"] != events[1].EventID.String() || line["topic"] != w.topic || line["group"] != w.group ||
			line["partition"] != 0.0 || line["offset"] != float64(4+i) || line["level"] != "DEBUG" {
			t.Errorf("line %d is %v", i, line)
		}
	}
}

func TestARepeatWithinABatchIsAuditedWithoutATime(t *testing.T) {
	w := newWorld(t, 1)
	book := &logbook{}
	cfg := w.config()
	cfg.Logger = book.logger(slog.LevelDebug)
	events := orders(1, 1)
	w.produce(events[0], events[0])
	w.start(cfg, w.queued)
	w.caughtUp()
	w.eventually("a line", func() bool { return len(book.lines(t, "duplicate skipped")) == 1 })
	line := book.lines(t, "duplicate skipped")[0]
	if _, known := line["processed_at"]; known || line["in_batch"] != true || line["offset"] != 1.0 {
		t.Errorf("the line is %v", line)
	}
}

// statements counts the statements that a pool has run with a text in them.
type statements struct {
	text string
	mu   sync.Mutex
	n    int
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, s.text) {
		s.mu.Lock()
		s.n++
		s.mu.Unlock()
	}
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func TestTheAuditAsksTheDatabaseOnlyWhileItIsOn(t *testing.T) {
	for level, want := range map[slog.Level]int{slog.LevelInfo: 0, slog.LevelDebug: 1} {
		t.Run(level.String(), func(t *testing.T) {
			w := newWorld(t, 1)
			asked := &statements{text: "processed_at"}
			w.pool = w.db.Pool(t, func(c *pgxpool.Config) { c.ConnConfig.Tracer = asked })
			events := orders(10, 1)
			w.produce(events...)
			cfg := w.config()
			cfg.Logger = (&logbook{}).logger(level)
			r := w.start(cfg, w.queued)
			w.caughtUp()
			if n := asked.count(); n != 0 {
				t.Errorf("asked %d times although nothing was a duplicate", n)
			}
			w.produce(events...)
			w.caughtUp()
			w.eventually("the duplicates are counted", func() bool { return r.Stats().Duplicates == 10 })
			if n := asked.count(); n != want {
				t.Errorf("asked %d times for one batch of duplicates, want %d", n, want)
			}
		})
	}
}

func TestABatchThatIsTriedAgainIsAuditedOnce(t *testing.T) {
	w := newWorld(t, 1)
	book := &logbook{}
	cfg := w.config()
	cfg.Logger = book.logger(slog.LevelDebug)
	seen := orders(2, 1)
	for _, o := range seen {
		w.exec(`INSERT INTO ledger (event_id, key, seq, amount) VALUES ($1, 'k', 0, 0)`, o.EventID)
	}
	w.prepareTable()
	for _, o := range seen {
		w.exec(`INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, $2)`, o.EventID, w.group)
	}
	w.produce(append(seen, orders(3, 1)...)...)
	r := w.start(cfg, w.failOnce("40001"))
	w.caughtUp()
	w.eventually("the batch is counted", func() bool { return r.Stats().Processed == 3 })
	if lines := book.lines(t, "duplicate skipped"); len(lines) != 2 || r.Stats().Retries != 1 {
		t.Errorf("%d lines after %d retries, want one for each of two duplicates after one", len(lines), r.Stats().Retries)
	}
}

func TestAQuarantinedRecordIsAudited(t *testing.T) {
	w := newWorld(t, 1)
	book := &logbook{}
	cfg := w.config()
	cfg.Logger = book.logger(slog.LevelInfo)
	events := orders(2, 1)
	events[1].EventID = uuid.New()
	w.produce(events...)
	w.start(cfg, w.queued)
	w.caughtUp()
	w.eventually("a line", func() bool { return len(book.lines(t, "event quarantined")) == 1 })
	line := book.lines(t, "event quarantined")[0]
	for key, want := range map[string]any{
		"event_id": events[1].EventID.String(), "topic": w.topic, "partition": 0.0, "offset": 1.0, "group": w.group,
		"reason": string(runtime.ReasonNotV7), "level": "WARN",
	} {
		if line[key] != want {
			t.Errorf("%s is %v, want %v", key, line[key], want)
		}
	}
}
