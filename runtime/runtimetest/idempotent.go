package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
	"github.com/idemlint/idemlint/runtime/internal/testpg"
)

// A Service is handlers under test, and records to try them on. Register and Records are required.
type Service struct {
	// Setup makes the service's tables. It is called for each run, with an empty database that has the runtime's
	// tables, and is the place to reset what Outside tells about.
	Setup func(ctx context.Context, pool *pgxpool.Pool) error
	// Register registers the handlers with a consumer that is about to run. It is called for every consumer,
	// several times in a run: after a crash a new one goes on.
	Register func(c *runtime.Consumer, pool *pgxpool.Pool)
	// Records are the events, each once, in the order in which they happened. Records of one key keep their order
	// in every run, and so do records without a key; the others change places. Their ids must be inside of the
	// window at the time of the test, and their handlers must not refuse them.
	Records []*kgo.Record
	// Config configures the consumers. Brokers, Group and Logger may be left empty; a BatchSize of zero becomes
	// small enough for several batches.
	Config runtime.Config
	// Outside tells what the handlers have done elsewhere than in the database, such as the requests that a fake
	// payment provider has honoured. Its lines are compared like rows.
	Outside func() []string
	// Ignore are tables, "audit", and columns, "invoice.printed_at", that may differ from run to run. Columns
	// that are an identity or have a clock, a sequence or a random value as their default are ignored already.
	Ignore []string
	// KeepOrder leaves records of different keys in their order, for handlers whose outcome depends on it.
	KeepOrder bool
	// Duplicates is the share of records that are sent more than once, 0.28 by default.
	Duplicates float64
	// Seed chooses duplicates and order; the default is always the same.
	Seed uint64
	// Timeout bounds one run, 60 seconds by default.
	Timeout time.Duration
}

// AssertIdempotent runs the service's handlers over its records once as they are, and then again and again, each
// time on a new database and broker, with some records repeated, records of different keys in another order, and one
// mishap: a crash between two steps of the consumer, each pair of steps in turn (of those of a runtime.Call, too, if
// there is one), or a COMMIT whose answer is lost, or never comes, or that never arrives. All tables, the messages in
// the outbox but for their ids, and what Outside tells must be the same after every run; each difference fails the test.
//
// It finds work that is done outside of the handler's transaction or kept in memory between events. It cannot find
// what happens in no table and is not told by Outside.
func AssertIdempotent(tb testing.TB, s Service) {
	tb.Helper()
	if s.Register == nil || len(s.Records) == 0 {
		tb.Fatal("runtimetest: AssertIdempotent needs Register and Records")
	}
	s = s.withDefaults()
	var calls atomic.Bool
	clean, err := s.run(tb, mishap{calls: &calls}, s.Records)
	if err != nil {
		tb.Fatalf("runtimetest: without any mishap: %v", err)
	}
	if s.empty(clean) {
		tb.Fatal("runtimetest: the handlers left no row in any table and nothing outside: there is nothing to compare")
	}
	for i, m := range mishaps(calls.Load()) {
		random := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		records := Repeat(s.Records, s.Duplicates, random)
		if !s.KeepOrder {
			records = shuffle(records, random)
		}
		got, err := s.run(tb, m, records)
		if err != nil {
			tb.Errorf("runtimetest: with %s: %v", m.name, err)
			continue
		}
		if differences := compare(clean, got); len(differences) > 0 {
			tb.Errorf("runtimetest: with %s the outcome is not that of a clean run:\n\t%s",
				m.name, strings.Join(differences, "\n\t"))
		}
	}
}

func (s Service) withDefaults() Service {
	if s.Duplicates == 0 {
		s.Duplicates = 0.28
	}
	if s.Timeout == 0 {
		s.Timeout = time.Minute
	}
	if s.Config.Group == "" {
		s.Config.Group = "runtimetest"
	}
	if s.Config.Logger == nil {
		s.Config.Logger = slog.New(slog.DiscardHandler)
	}
	if s.Config.BatchSize == 0 {
		s.Config.BatchSize = min(500, max(1, len(s.Records)/8))
	}
	if s.Config.BackoffMin == 0 && s.Config.BackoffMax == 0 {
		s.Config.BackoffMin, s.Config.BackoffMax = 5*time.Millisecond, 100*time.Millisecond
	}
	// A partition that is assigned while a fetch of others waits for records waits with it.
	s.Config.KafkaOptions = append([]kgo.Opt{kgo.FetchMaxWait(20 * time.Millisecond)}, s.Config.KafkaOptions...)
	if s.Config.CommitInterval == 0 {
		s.Config.CommitInterval = 5 * time.Millisecond
	}
	return s
}

func (s Service) empty(taken snapshot) bool {
	for _, rows := range taken {
		if len(rows) > 0 {
			return false
		}
	}
	return true
}

// mishap is what goes wrong in a run, once.
type mishap struct {
	name  string
	crash *seam.Step
	arm   func(*testpg.Proxy)
	calls *atomic.Bool // set if a handler makes calls between two transactions; may be nil
}

// mishaps are all there are, with those in the middle of a runtime.Call if there are calls.
func mishaps(calls bool) []mishap {
	all := []mishap{
		{name: "repeated and reordered records"},
		{name: "a COMMIT whose answer is lost", arm: func(p *testpg.Proxy) { p.LoseCommitAnswers(1) }},
		{name: "a COMMIT that is never answered", arm: func(p *testpg.Proxy) { p.SwallowCommitAnswers(1) }},
		{name: "a COMMIT that never arrives", arm: func(p *testpg.Proxy) { p.CutBeforeCommit(1) }},
	}
	steps := seam.Steps()
	if calls {
		steps = append(steps, seam.CallSteps()...)
	}
	for _, step := range steps {
		all = append(all, mishap{name: "a crash at step " + step.String(), crash: &step})
	}
	return all
}

// run processes records on a database and broker of its own, with one mishap, and answers what is there when all
// offsets are committed.
func (s Service) run(tb testing.TB, m mishap, records []*kgo.Record) (snapshot, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeoutCause(context.Background(), s.Timeout, errors.New("the run took too long"))
	defer cancel()
	topics := topicsOf(records)
	broker := Kafka(tb, topics...)
	db := testpg.New(tb)
	direct := migratedPool(tb, db.URL, s.Config.Layout)
	if s.Setup != nil {
		if err := s.Setup(ctx, direct); err != nil {
			return nil, fmt.Errorf("set up: %w", err)
		}
	}
	pool := direct
	var proxy *testpg.Proxy
	if m.arm != nil {
		proxy = testpg.NewProxy(tb, db.URL)
		pool = testpg.OpenPool(tb, proxy.URL)
	}
	broker.Produce(tb, copies(records)...)
	if err := s.consume(ctx, m, broker, pool, proxy, topics); err != nil {
		return nil, err
	}
	taken, err := takeSnapshot(ctx, direct, s.Ignore)
	if err == nil && s.Outside != nil {
		taken[outsideTable] = s.Outside()
	}
	return taken, err
}

// consume runs consumers, a new one after each crash, until the group has committed everything.
func (s Service) consume(ctx context.Context, m mishap, broker *Broker, pool *pgxpool.Pool, proxy *testpg.Proxy, topics []string) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	config := s.Config
	config.Brokers = broker.Addresses()
	if proxy != nil && config.BatchTimeout == 0 {
		config.BatchTimeout = 2 * time.Second // how long an answer that never comes is waited for
	}
	onAlarm := config.OnAlarm
	config.OnAlarm = func(a runtime.Alarm) {
		if onAlarm != nil {
			onAlarm(a)
		}
		if a.Kind == runtime.AlarmPartitionStopped {
			stop(fmt.Errorf("partition %s/%d stopped at offset %d: %w", a.Topic, a.Partition, a.Offset, a.Err))
		}
	}
	trigger := &trigger{mishap: m, proxy: proxy}
	running, halt := context.WithCancel(seam.With(ctx, trigger.hook))
	done := make(chan error, 1)
	go func() {
		err := s.keepRunning(running, config, pool)
		if err != nil {
			stop(err)
		}
		done <- err
	}()
	err := broker.awaitGroup(ctx, config.Group, topics)
	halt()
	if err := errors.Join(err, <-done); err != nil {
		return err
	}
	if !trigger.happened() {
		return errors.New("it did not come to pass")
	}
	return nil
}

// keepRunning runs a consumer until ctx ends, and another one whenever one crashed.
func (s Service) keepRunning(ctx context.Context, config runtime.Config, pool *pgxpool.Pool) error {
	for {
		consumer, err := runtime.New(pool, config)
		if err != nil {
			return err
		}
		s.Register(consumer, pool)
		err = consumer.Run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, seam.ErrCrash) {
			return err
		}
	}
}

// trigger lets a mishap happen once in a run.
type trigger struct {
	mishap mishap
	proxy  *testpg.Proxy

	mu    sync.Mutex
	hits  int // of the step to crash at
	armed bool
}

// hook crashes the consumer when it comes to the step for the first time and when it has come by again a few times,
// with work done before. It arms the proxy when the first transaction is open, so that no commit but a batch's is hit.
func (t *trigger) hook(step seam.Step) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mishap.calls != nil && step == seam.AfterIntent {
		t.mishap.calls.Store(true)
	}
	if t.mishap.arm != nil && step == seam.AfterBegin && !t.armed {
		t.armed = true
		t.mishap.arm(t.proxy)
	}
	if t.mishap.crash != nil && step == *t.mishap.crash {
		if t.hits++; t.hits == 1 || t.hits == 4 {
			return seam.ErrCrash
		}
	}
	return nil
}

func (t *trigger) happened() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.mishap.crash != nil:
		return t.hits > 0
	case t.mishap.arm != nil:
		return len(t.proxy.Lost()) > 0
	default:
		return true
	}
}

func topicsOf(records []*kgo.Record) []string {
	var topics []string
	for _, r := range records {
		if !slices.Contains(topics, r.Topic) {
			topics = append(topics, r.Topic)
		}
	}
	return topics
}

// copies are records that a client may write offsets and timestamps into.
func copies(records []*kgo.Record) []*kgo.Record {
	fresh := make([]*kgo.Record, len(records))
	for i, r := range records {
		fresh[i] = &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Headers: slices.Clone(r.Headers)}
	}
	return fresh
}
