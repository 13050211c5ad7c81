package runtime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// fetchMaxWait is how long a broker holds back an empty answer to a fetch, unless
// Config.KafkaOptions say otherwise. A resumed partition is fetched only with the
// next request, so it is also how long a resumption may take.
const fetchMaxWait = 100 * time.Millisecond

// fetchMaxPartition is how many bytes of a partition a broker sends at once, unless
// Config.KafkaOptions say otherwise. A partition whose buffer is full is paused, and
// costs what the client has fetched for it; small portions also come to all
// partitions in turn, and fill no buffer while others wait.
const fetchMaxPartition = 256 << 10

// leaveTimeout bounds the goodbye to the group at shutdown. A member that does
// not get to say it is missed after the session timeout.
const leaveTimeout = 5 * time.Second

// offsetCommitTimeout bounds one offset commit. A rebalance may have to wait
// this long, so it is well below the usual rebalance timeout of a minute.
const offsetCommitTimeout = 5 * time.Second

// A Consumer consumes topics as a member of a group and applies every event once.
// Create it with New, register handlers, then call Run, once.
type Consumer struct {
	pool     *pgxpool.Pool
	cfg      Config
	handlers map[string]handler
	misuses  []error
	began    atomic.Bool
	beginSQL string
	// keyExpired is checkKeyAge, made a value once.
	keyExpired func(uuid.UUID) error

	// Known once the table was found.
	markSQL        string
	processedAtSQL string
	quarantine     Quarantine
	outboxSQL      string
	intents        intentSQL
	deadLetterSQL  string // inserts a dead letter into the outbox

	client *kgo.Client
	ready  chan struct{} // closed once client is set; callbacks wait for it
	hook   seam.Hook

	// work is the context of everything that is not polling: it outlives Run's
	// context until batches in flight have ended.
	work       context.Context
	cancelWork context.CancelCauseFunc
	// stopPoll ends the poll loop before Run's own context has ended.
	stopPoll context.CancelFunc
	fatal    atomic.Pointer[error]
	crashed  atomic.Bool

	mu          sync.Mutex
	assignments map[partition]*assignment
	closed      bool           // no assignment starts any more
	lanes       sync.WaitGroup // of all assignments, past ones too

	// commitMu is held from the check whether an assignment is revoked to the
	// answer of the offset commit, and while assignments are being revoked. So
	// no commit is sent after a revocation, and a rebalance does not go on while
	// one is in flight: a late commit would rewind the new owner.
	commitMu     sync.Mutex
	commitWake   chan struct{}
	pollWake     chan struct{} // holds a token when a partition's need may have changed
	commitFailed int           // in a row; guarded by commitMu

	maintainer *Maintainer
	relay      *Relay      // nil unless Config.Relay asks for it
	admin      *kgo.Client // asks about offsets; never consumes

	lagMu     sync.Mutex
	lagAsked  time.Time // when the group's lag was asked for with success
	lagOldest time.Time // and the answer

	alarms alarms // to be logged
	raised alarms // logged, for the user's hook
	stats  stats

	pulse
	born    time.Time // where clock begins
	metrics *instruments
	topics  map[string]*topicMetrics // of those that have a handler, once Run has begun
	tracer  trace.Tracer

	collected sync.Once
	collects  chan struct{} // closed once someone collects metrics
}

// New returns a consumer that does its work in pool. It checks cfg and connects
// to nothing; its error lists every mistake in cfg.
func New(pool *pgxpool.Pool, cfg Config) (*Consumer, error) {
	if pool == nil {
		return nil, errors.New("configuring consumer: pool is nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configuring consumer of group %q: %w", cfg.Group, err)
	}
	c := &Consumer{
		pool:        pool,
		cfg:         cfg,
		beginSQL:    beginSQL(cfg),
		handlers:    make(map[string]handler),
		ready:       make(chan struct{}),
		assignments: make(map[partition]*assignment),
		commitWake:  make(chan struct{}, 1),
		pollWake:    make(chan struct{}, 1),
		alarms:      alarms{wake: make(chan struct{}, 1)},
		raised:      alarms{wake: make(chan struct{}, 1)},
		born:        time.Now(),
		collects:    make(chan struct{}),
		pulse:       pulse{pollTick: pollTick},
		topics:      make(map[string]*topicMetrics),
		tracer:      cfg.TracerProvider.Tracer(scopeName, trace.WithSchemaURL(semconv.SchemaURL)),
	}
	c.keyExpired = c.checkKeyAge
	var err error
	if c.metrics, err = newInstruments(cfg.MeterProvider); err != nil {
		return nil, fmt.Errorf("configuring consumer of group %q: %w", cfg.Group, err)
	}
	c.maintainer, err = NewMaintainer(pool, MaintainerConfig{
		Group: cfg.Group, Layout: cfg.Layout, Window: cfg.Window, Interval: cfg.MaintenanceInterval,
		OldestUncommitted: c.oldestUncommitted, OnError: c.upkeepFailed, Logger: cfg.Logger, Now: cfg.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("configuring consumer of group %q: %w", cfg.Group, err)
	}
	if cfg.Relay != nil {
		if c.relay, err = NewRelay(pool, c.relayConfig(*cfg.Relay)); err != nil {
			return nil, fmt.Errorf("configuring consumer of group %q: %w", cfg.Group, err)
		}
	}
	return c, nil
}

// clock is the time since the consumer was made, which no step of the wall clock moves.
func (c *Consumer) clock() time.Duration { return time.Since(c.born) }

func (c *Consumer) misuse(err error) { c.misuses = append(c.misuses, err) }

func (c *Consumer) register(topic string, h handler) {
	switch {
	case c.began.Load():
		panic(fmt.Sprintf("runtime: handler for topic %q registered after Run", topic))
	case topic == "":
		c.misuse(errors.New("handler for a topic without a name"))
	case c.handlers[topic] != nil:
		c.misuse(fmt.Errorf("topic %q has two handlers", topic))
	default:
		c.consume(topic, h)
	}
}

func (c *Consumer) consume(topic string, h handler) {
	c.handlers[topic] = h
	c.topics[topic] = c.metrics.forTopic(c.cfg.Group, topic)
}

// Run consumes until ctx ends, then lets the batches in flight finish, commits
// their offsets, leaves the group and returns nil. It returns an error if the
// configuration or the table cannot work (checked before the group is joined), if
// batches had to be cut off at shutdown (ErrDrainTimeout), or if the client was closed.
//
// Run never returns because of a failing record, database or broker: it retries,
// or stops the partition concerned, and raises alarms. When it has returned,
// every goroutine it started has ended, except for handlers that ignored their
// context beyond the shutdown timeout.
func (c *Consumer) Run(ctx context.Context) error {
	if !c.began.CompareAndSwap(false, true) {
		return errors.New("running consumer: Run was called before")
	}
	if err := errors.Join(c.misuses...); err != nil {
		return fmt.Errorf("running consumer: %w", err)
	}
	if len(c.handlers) == 0 {
		return errors.New("running consumer: no handler is registered")
	}
	if err := c.registerRedelivery(); err != nil {
		return fmt.Errorf("running consumer: %w", err)
	}
	c.stage.Store(stagePreparing)
	defer c.stage.Store(stageEnded)
	defer c.startAlarms()()
	stopGauges, err := c.startGauges()
	if err != nil {
		return fmt.Errorf("running consumer: %w", err)
	}
	defer stopGauges()
	c.startCounters()

	admin, err := kgo.NewClient(c.adminOptions()...)
	if err != nil {
		return fmt.Errorf("configuring Kafka client: %w", err)
	}
	defer admin.Close()
	c.admin = admin
	closePaths, err := c.openFailurePaths(ctx)
	if err != nil {
		return fmt.Errorf("running consumer: %w", err)
	}
	defer closePaths()
	if err := c.prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // asked to end before it began
		}
		return fmt.Errorf("running consumer: %w", err)
	}
	c.hook = seam.From(ctx)
	c.work, c.cancelWork = context.WithCancelCause(context.WithoutCancel(ctx))
	defer c.cancelWork(nil)
	pollCtx, stopPoll := context.WithCancel(ctx)
	c.stopPoll = stopPoll
	defer stopPoll()

	client, err := kgo.NewClient(c.clientOptions()...)
	if err != nil {
		return fmt.Errorf("configuring Kafka client: %w", err)
	}
	c.client = client
	if err := c.checkOptions(); err != nil {
		c.closed = true
		close(c.ready)
		client.CloseAllowingRebalance()
		return fmt.Errorf("configuring Kafka client: %w", err)
	}
	close(c.ready)

	background, stopBackground := context.WithCancel(c.work)
	defer stopBackground()
	var others sync.WaitGroup
	others.Go(func() { c.commitLoop(background) })
	others.Go(func() { c.watchEnds(background) })
	others.Go(func() { _ = c.maintainer.Run(background) }) // reports through its hook, returns nil
	others.Go(func() { c.runRelay(background) })

	c.move()
	c.stage.Store(stageRunning)
	err = c.poll(pollCtx)
	c.stage.Store(stageDraining)
	err = errors.Join(err, c.drain())
	stopBackground()
	others.Wait()
	c.leave()
	return err
}

// adminOptions are those of a client that is no member of the group and consumes
// nothing, whatever KafkaOptions ask for.
func (c *Consumer) adminOptions() []kgo.Opt { return plainOptions(c.cfg.Brokers, c.cfg.KafkaOptions) }

// checkOptions refuses KafkaOptions that cannot be overridden.
func (c *Consumer) checkOptions() error {
	if regex, _ := c.client.OptValue(kgo.ConsumeRegex).(bool); regex {
		return errors.New("KafkaOptions hold ConsumeRegex, but a handler is for one topic")
	}
	limit, _ := c.client.OptValue(kgo.RebalanceTimeout).(time.Duration)
	if need := c.cfg.RevokeTimeout + offsetCommitTimeout; need >= limit {
		return fmt.Errorf("RevokeTimeout %s and an offset commit do not fit into the rebalance timeout %s", c.cfg.RevokeTimeout, limit)
	}
	return nil
}

func (c *Consumer) clientOptions() []kgo.Opt {
	opts := []kgo.Opt{kgo.FetchMaxWait(fetchMaxWait), kgo.FetchMaxPartitionBytes(fetchMaxPartition)}
	opts = append(opts, c.cfg.KafkaOptions...)
	opts = append(opts,
		kgo.SeedBrokers(c.cfg.Brokers...),
		kgo.ConsumerGroup(c.cfg.Group),
		kgo.ConsumeTopics(slices.Sorted(maps.Keys(c.handlers))...),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		// An offset out of range means that records are gone or that the offset
		// is wrong; either is for a person to decide, so no reset.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
		kgo.AdjustFetchOffsetsFn(c.placed),
		kgo.KeepRetryableFetchErrors(), // or a partition that stays like that would be silent
		// Polled records reach their assignment before a rebalance may go on.
		// The poll loop allows it again at once: it never waits for work.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(c.assigned),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) { c.release(ps, true) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, ps map[string][]int32) {
			c.joined.Store(false)
			c.release(ps, false)
		}),
	)
	if c.cfg.InstanceID != "" {
		opts = append(opts, kgo.InstanceID(c.cfg.InstanceID))
	}
	if c.cfg.Protocol == KIP848 {
		return append(opts, kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer())
	}
	return append(opts, kgo.Balancers(kgo.CooperativeStickyBalancer()))
}

func (c *Consumer) assignment(p partition) *assignment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.assignments[p]
}

// drain lets batches in flight finish, cuts off those that do not, and commits
// what is completed. After a simulated crash it only cuts off.
func (c *Consumer) drain() error {
	c.mu.Lock()
	c.closed = true
	held := slices.Collect(maps.Values(c.assignments))
	c.mu.Unlock()

	var err error
	if !c.crashed.Load() {
		for _, a := range held {
			a.close()
		}
		if !waitFor(&c.lanes, c.cfg.ShutdownTimeout) {
			err = ErrDrainTimeout
		}
	}
	c.cancelWork(errShutdown)
	waitFor(&c.lanes, leaveTimeout)
	if !c.crashed.Load() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.work), offsetCommitTimeout)
		defer cancel()
		c.commitMu.Lock()
		defer c.commitMu.Unlock()
		if commitErr := c.commitLocked(ctx, held); commitErr != nil {
			c.cfg.Logger.Warn("last offset commit failed; completed records will be delivered again and found as duplicates", "error", commitErr)
		}
	}
	return err
}

var errShutdown = errors.New("the consumer is shutting down")

// leave leaves the group and closes the client.
func (c *Consumer) leave() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.work), leaveTimeout)
	defer cancel()
	c.client.AllowRebalance()
	if err := c.client.LeaveGroupContext(ctx); err != nil {
		c.cfg.Logger.Warn("leaving the group failed; its partitions move on after the session timeout", "group", c.cfg.Group, "error", err)
	}
	c.client.CloseAllowingRebalance()
}

// waitFor waits for wg, at most d, and reports whether it was done.
func waitFor(wg *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// step calls the test hook, if there is one.
func (c *Consumer) step(s seam.Step) error {
	if c.hook == nil {
		return nil
	}
	if c.crashed.Load() {
		return seam.ErrCrash
	}
	if err := c.hook(s); err != nil {
		return fmt.Errorf("at step %s: %w", s, err)
	}
	return nil
}

// fail makes Run return err, as a crash would if err is one.
func (c *Consumer) fail(err error) {
	if errors.Is(err, seam.ErrCrash) {
		c.crashed.Store(true)
		c.cancelWork(err)
	}
	c.fatal.CompareAndSwap(nil, &err)
	c.stopPoll()
}

// alarmLater queues an alarm; it may be called with locks held.
func (c *Consumer) alarmLater(a Alarm) { c.alarms.put(a) }

// startAlarms begins to log and raise alarms. The returned function ends that, once
// those that are left are raised or OnAlarm has been waited for long enough.
func (c *Consumer) startAlarms() (stop func()) {
	logging, stopLogging := context.WithCancel(context.Background())
	raising, stopRaising := context.WithCancel(context.Background())
	var logger, raiser sync.WaitGroup
	logger.Go(func() {
		c.alarms.run(logging, func(a Alarm) {
			c.cfg.Logger.Error("alarm", "group", c.cfg.Group, "alarm", a)
			c.countAlarm(a)
			if c.cfg.OnAlarm != nil {
				c.raised.put(a)
			}
		})
	})
	raiser.Go(func() { c.raised.run(raising, c.raise) })
	return func() {
		stopLogging()
		logger.Wait()
		stopRaising()
		if !waitFor(&raiser, leaveTimeout) {
			c.cfg.Logger.Warn("OnAlarm has not returned", "group", c.cfg.Group)
		}
	}
}

// raise calls the user's hook, which may do what it likes.
func (c *Consumer) raise(a Alarm) {
	var err error
	inGoroutine(func() {
		defer catch(&err)
		c.cfg.OnAlarm(a)
	}, func() { err = errGoexit })
	if err != nil {
		c.cfg.Logger.Error("OnAlarm failed", "group", c.cfg.Group, "alarm", a, "error", err)
	}
}
