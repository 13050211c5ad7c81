package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

// A demo shows the service at work.
type demo struct {
	orders     int
	duplicates float64 // share of the orders that are sent twice
	trouble    float64 // share of the requests whose answer the provider loses
	logger     *slog.Logger
}

// An outcome is what happened.
type outcome struct {
	Orders, Records   int
	Processed         int64 // events
	DuplicatesSkipped int64
	Requests          int // that the provider got
	AnswersLost       int
	Charges           int   // movements of money
	Charged           int64 // cents, at the provider
	LedgerEntries     int
	LedgerSum         int64 // cents
	OrderSum          int64 // cents
}

func (o outcome) String() string {
	return fmt.Sprintf(`%6d orders, sent in %d records
%6d events processed
%6d duplicates skipped
%6d requests to the provider, which lost %d answers after it had moved the money
%6d charges, %s in all
%6d ledger entries, %s in all, of orders for %s
`, o.Orders, o.Records, o.Processed, o.DuplicatesSkipped, o.Requests, o.AnswersLost,
		o.Charges, euros(o.Charged), o.LedgerEntries, euros(o.LedgerSum), euros(o.OrderSum))
}

func euros(cents int64) string { return fmt.Sprintf("%d.%02d EUR", cents/100, cents%100) }

// run sends orders, runs the service until it has consumed them all, and looks at what is there.
func (d demo) run(ctx context.Context, env func(string) string) (o outcome, err error) {
	name := "billing_" + strings.ReplaceAll(uuid.NewString()[:13], "-", "_")
	pool, dropDatabase, err := openDatabase(ctx, env("DATABASE_URL"), name)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, dropDatabase()) }()
	brokers, closeBroker, err := findBrokers(env("KAFKA_BROKERS"))
	if err != nil {
		return o, err
	}
	defer closeBroker()
	topic := "order-service.order.confirmed." + name
	if o.Records, o.OrderSum, err = d.sendOrders(ctx, brokers, topic); err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, deleteTopic(brokers, topic)) }()
	psp := newProvider(d.trouble)
	defer psp.Close()

	consumer, err := newBilling(psp.URL).newConsumer(pool, brokers, topic, d.logger)
	if err != nil {
		return o, err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- consumer.Run(running) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for s := consumer.Stats(); s.Processed+s.Duplicates < int64(o.Records); s = consumer.Stats() {
		select {
		case <-tick.C:
		case err := <-done:
			return o, errors.Join(ctx.Err(), err)
		}
	}
	stop()
	if err := <-done; err != nil {
		return o, err
	}
	s := consumer.Stats()
	o.Orders, o.Processed, o.DuplicatesSkipped = d.orders, s.Processed, s.Duplicates
	o.Requests, o.AnswersLost, o.Charges, o.Charged = psp.figures()
	err = pool.QueryRow(ctx, `SELECT count(*), coalesce(sum(cents), 0) FROM ledger_entry`).Scan(&o.LedgerEntries, &o.LedgerSum)
	return o, err
}

// openDatabase makes a schema of its own in a database, by default one of a throw-away server.
func openDatabase(ctx context.Context, conn, name string) (pool *pgxpool.Pool, drop func() error, err error) {
	removeServer := func() error { return nil }
	if conn == "" {
		if conn, removeServer, err = runtimetest.PostgresServer(); err != nil {
			return nil, nil, err
		}
	}
	config, err := pgxpool.ParseConfig(conn)
	if err == nil {
		config.ConnConfig.RuntimeParams["search_path"] = name
		pool, err = pgxpool.NewWithConfig(ctx, config)
	}
	if err != nil {
		return nil, nil, errors.Join(err, removeServer())
	}
	path := pgx.Identifier{name}.Sanitize()
	drop = func() error {
		_, err := pool.Exec(context.WithoutCancel(ctx), "DROP SCHEMA IF EXISTS "+path+" CASCADE")
		pool.Close()
		return errors.Join(err, removeServer())
	}
	if _, err = pool.Exec(ctx, "CREATE SCHEMA "+path); err == nil {
		_, err = runtime.Migrate(ctx, pool)
	}
	if err == nil {
		_, err = pool.Exec(ctx, schema)
	}
	if err != nil {
		return nil, nil, errors.Join(err, drop())
	}
	return pool, drop, nil
}

func findBrokers(named string) (brokers []string, stop func(), err error) {
	if named != "" {
		return strings.Split(named, ","), func() {}, nil
	}
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return nil, nil, fmt.Errorf("starting a fake broker: %w", err)
	}
	return fake.ListenAddrs(), fake.Close, nil
}

// sendOrders makes the topic and sends orders of some customers, a share of them twice.
func (d demo) sendOrders(ctx context.Context, brokers []string, topic string) (records int, cents int64, err error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.DefaultProduceTopic(topic))
	if err != nil {
		return 0, 0, err
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, 3, 1, nil, topic); err != nil {
		return 0, 0, fmt.Errorf("creating topic %s: %w", topic, err)
	}
	var all []*kgo.Record
	for i := range d.orders {
		id, err := uuid.NewV7()
		if err != nil {
			return 0, 0, err
		}
		order := OrderConfirmed{EventID: id, OrderID: fmt.Sprintf("order-%d", i), Cents: 100 + rand.Int64N(10_000)}
		value, err := json.Marshal(order)
		if err != nil {
			return 0, 0, err
		}
		cents += order.Cents
		all = append(all, &kgo.Record{Key: fmt.Appendf(nil, "customer-%d", i%50), Value: value})
	}
	all = runtimetest.Repeat(all, d.duplicates, rand.New(rand.NewPCG(rand.Uint64(), 0)))
	for i, r := range all { // a record that is sent twice is two records to the client
		all[i] = &kgo.Record{Key: r.Key, Value: r.Value}
	}
	if err := client.ProduceSync(ctx, all...).FirstErr(); err != nil {
		return 0, 0, fmt.Errorf("sending orders: %w", err)
	}
	return len(all), cents, nil
}

func deleteTopic(brokers []string, topic string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, err := kadm.NewClient(client).DeleteTopic(ctx, topic); err != nil {
		return fmt.Errorf("deleting topic %s: %w", topic, err)
	}
	return nil
}

// A provider moves money once for each idempotency key, and loses some of its answers.
type provider struct {
	*httptest.Server
	trouble float64

	mu       sync.Mutex
	requests int
	lost     int
	moved    int64
	moves    int // movements of money
	charges  map[string]Charge
}

func newProvider(trouble float64) *provider {
	p := &provider{trouble: trouble, charges: make(map[string]Charge)}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	return p
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	var request ChargeRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	charge, lose := p.charge(r.Header.Get(runtime.IdempotencyKeyHeader), request)
	if lose {
		panic(http.ErrAbortHandler) // closes the connection
	}
	_ = json.NewEncoder(w).Encode(charge)
}

// charge moves the money unless it has seen the key. Without a key it cannot tell.
func (p *provider) charge(key string, request ChargeRequest) (charge Charge, lose bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	charge, seen := p.charges[key]
	if key == "" || !seen {
		p.moves++
		p.moved += request.Cents
		charge = Charge{ID: fmt.Sprintf("ch_%d", p.moves), Cents: request.Cents}
		p.charges[key] = charge
	}
	if lose = rand.Float64() < p.trouble; lose {
		p.lost++
	}
	return charge, lose
}

func (p *provider) figures() (requests, lost, charges int, cents int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests, p.lost, p.moves, p.moved
}
