package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// patience bounds every wait; reaching it is a failure.
const patience = 2 * time.Minute

// order is the payload of the events.
type order struct {
	EventID uuid.UUID `json:"eventId"`
	Key     string    `json:"key"`
	Amount  int       `json:"amount"`
}

const (
	// ledgerSQL makes a table that accepts repeats, so that they show.
	ledgerSQL = `CREATE TABLE ledger (event_id uuid NOT NULL, key text NOT NULL, amount int NOT NULL)`
	markSQL   = `INSERT INTO processed_event (event_id, consumer_group) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	insertSQL = `INSERT INTO ledger (event_id, key, amount) VALUES ($1, $2, $3)`
)

// world is a database with the runtime's tables and a ledger, and a topic.
type world struct {
	testing.TB
	pool   *pgxpool.Pool // of the consumer
	direct *pgxpool.Pool // without a proxy that delays
	kafka  *testkafka.Cluster
	topic  string
	group  string
}

func newWorld(tb testing.TB, server *testpg.Server, partitions int, rtt time.Duration) *world {
	tb.Helper()
	kafka := testkafka.Start(tb, testkafka.Options{})
	w := &world{TB: tb, kafka: kafka, topic: kafka.Topic(tb, int32(partitions)), group: kafka.Group()}
	db := server.Database(tb)
	connections := func(c *pgxpool.Config) { c.MaxConns = int32(partitions) + 4 }
	w.direct = db.Pool(tb, connections)
	w.pool = w.direct
	if rtt > 0 {
		proxy := testpg.NewProxy(tb, db.URL)
		proxy.SetRoundTrip(rtt)
		w.pool = testpg.OpenPool(tb, proxy.URL, connections)
	}
	ctx := context.Background()
	_, err := runtime.Migrate(ctx, w.direct)
	if err == nil {
		_, err = w.direct.Exec(ctx, ledgerSQL)
	}
	if err != nil {
		tb.Fatal(err)
	}
	m, err := runtime.NewMaintainer(w.direct, runtime.MaintainerConfig{Group: w.group, Logger: silent()})
	if err == nil {
		err = m.Prepare(ctx)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// produce sends n events, each of them times times, to all partitions in turn.
func (w *world) produce(partitions, n, times int) {
	w.Helper()
	client := w.kafka.Client(w, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	var recs []*kgo.Record
	for i := range n {
		o := order{EventID: uuid.Must(uuid.NewV7()), Key: fmt.Sprint("customer-", i%1000), Amount: 1}
		value, err := json.Marshal(o)
		if err != nil {
			w.Fatal(err)
		}
		for range times {
			recs = append(recs, &kgo.Record{Topic: w.topic, Partition: int32(i % partitions), Key: []byte(o.Key), Value: value})
		}
	}
	for chunk := range slices.Chunk(recs, 10_000) {
		if err := client.ProduceSync(context.Background(), chunk...).FirstErr(); err != nil {
			w.Fatal(err)
		}
	}
}

// warmUp opens n connections and has each of them do what it will do, for PostgreSQL reads
// the catalogs anew for every connection.
func (w *world) warmUp(n int) {
	w.Helper()
	ctx := context.Background()
	for range n {
		conn, err := w.pool.Acquire(ctx)
		if err != nil {
			w.Fatal(err)
		}
		defer conn.Release()
		tx, err := conn.Begin(ctx)
		if err != nil {
			w.Fatal(err)
		}
		id := uuid.Must(uuid.NewV7())
		_, err = tx.Exec(ctx, markSQL, id, w.group)
		if err == nil {
			_, err = tx.Exec(ctx, insertSQL, id, "customer", 1)
		}
		if err = errors.Join(err, tx.Rollback(ctx)); err != nil {
			w.Fatal(err)
		}
	}
}

// effects returns the ledger's rows and its distinct events.
func (w *world) effects() (rows, events int) {
	w.Helper()
	if err := w.direct.QueryRow(context.Background(), `SELECT count(*), count(DISTINCT event_id) FROM ledger`).Scan(&rows, &events); err != nil {
		w.Fatal(err)
	}
	return rows, events
}

func (w *world) await(done <-chan struct{}) {
	w.Helper()
	select {
	case <-done:
	case <-time.After(patience):
		w.Fatal("the events were not processed in time")
	}
}
