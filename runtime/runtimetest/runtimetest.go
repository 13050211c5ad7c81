// Package runtimetest tests services that are built on package runtime: a database and a broker of a test's own in
// two calls, and AssertIdempotent, which looks for a way to make a service's handlers do their work twice.
//
//	pool := runtimetest.Postgres(t)
//	broker := runtimetest.Kafka(t, "order-service.order.confirmed")
//	consumer, err := runtime.New(pool, runtime.Config{Brokers: broker.Addresses(), Group: "billing-service"})
//
// Chaos repeats records on purpose, in a test or on a staging cluster.
//
// The package is for tests: it depends on a fake broker and on a downloader of PostgreSQL, which a service must not
// carry. It works through package runtime's public face, but for the hook that stops a consumer between two steps.
package runtimetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/testkafka"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// Postgres answers a pool on a database of the test's own that has the runtime's tables, by default in the
// Partitioned layout. The database is dropped when the test ends.
//
// It is on the server that DATABASE_URL names, as a role that may create databases. Without DATABASE_URL it is on a
// throw-away server, made with the PostgreSQL that is installed (PG_BIN names another one's programs) or a
// downloaded one, and shared by all tests of the process.
func Postgres(tb testing.TB, layout ...runtime.Layout) *pgxpool.Pool {
	tb.Helper()
	return migratedPool(tb, testpg.New(tb).URL, layout...)
}

// PostgresServer starts a throw-away server outside of a test, as Postgres does without DATABASE_URL, and answers the
// connection string of an empty database on it. It is for programs that show something. remove stops the server and
// leaves nothing of it; so does the end of the process.
func PostgresServer() (conn string, remove func() error, err error) {
	server, remove, err := testpg.Run(testpg.Options{})
	if err != nil {
		return "", nil, fmt.Errorf("runtimetest: %w", err)
	}
	return server.URL(), remove, nil
}

func migratedPool(tb testing.TB, conn string, layout ...runtime.Layout) *pgxpool.Pool {
	tb.Helper()
	pool := testpg.OpenPool(tb, conn)
	if _, err := runtime.Migrate(context.Background(), pool, layout...); err != nil {
		tb.Fatalf("runtimetest: %v", err)
	}
	return pool
}

// Broker is a fake broker of a test's own.
type Broker struct {
	cluster *testkafka.Cluster
	client  *kgo.Client
}

// partitions is enough for keys to be spread and few enough for every one to get some.
const partitions = 3

// Kafka starts a fake broker that holds the topics, with 3 partitions each. It is gone when the test ends.
func Kafka(tb testing.TB, topics ...string) *Broker {
	tb.Helper()
	cluster := testkafka.Start(tb, testkafka.Options{FakeOnly: true})
	for _, topic := range topics {
		if err := cluster.Fake().CreateTopic(topic, partitions, nil); err != nil {
			tb.Fatalf("runtimetest: create topic %s: %v", topic, err)
		}
	}
	return &Broker{cluster: cluster, client: cluster.Client(tb)}
}

// Addresses are the broker's, for runtime.Config.Brokers.
func (b *Broker) Addresses() []string { return b.cluster.Brokers() }

// Produce sends records in order and returns when the broker has them all. Records of one key go to one partition.
func (b *Broker) Produce(tb testing.TB, records ...*kgo.Record) {
	tb.Helper()
	if err := b.client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		tb.Fatalf("runtimetest: produce: %v", err)
	}
}

// AwaitGroup returns when group has committed everything that the topics hold, or fails the test when ctx ends.
func (b *Broker) AwaitGroup(ctx context.Context, tb testing.TB, group string, topics ...string) {
	tb.Helper()
	if err := b.awaitGroup(ctx, group, topics); err != nil {
		tb.Fatalf("runtimetest: %v", err)
	}
}

// IDAt is a fresh event id, a UUID v7, of an event made at t.
func IDAt(t time.Time) uuid.UUID {
	var id uuid.UUID
	_, _ = rand.Read(id[:]) // never fails
	ms := t.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}
