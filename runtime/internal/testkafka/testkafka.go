// Package testkafka gives a test brokers and topics: the ones KAFKA_BROKERS names, else a fake cluster of the
// test's own. A test written against it runs on both; what only the fake can do (faults, moved leaders, group
// internals) it reaches through Fake, which says so by answering nil on real brokers.
//
// The package is for tests only. It knows nothing of PostgreSQL.
package testkafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// adminTimeout bounds what the package does on a test's behalf, such as creating topics.
const adminTimeout = 60 * time.Second

// ErrForeignBrokers is the answer of Stop and Start for brokers that KAFKA_BROKERS names, when KAFKA_CONTROL does
// not name the program that can stop and start them.
var ErrForeignBrokers = errors.New("the brokers were not started by this process, and KAFKA_CONTROL is not set")

// Options shape a cluster. The zero value is one fake broker that keeps everything in memory.
type Options struct {
	// Brokers is the number of fake brokers; 0 means one. Real brokers are as many as they are.
	Brokers int
	// Restartable is for a test that calls Stop and Start. A fake cluster then keeps topics, records and offsets
	// over a restart, as real brokers do; real brokers are used only if KAFKA_CONTROL can restart them.
	Restartable bool
	// FakeOnly asks for a fake cluster even where KAFKA_BROKERS is set, for a test that needs Fake.
	FakeOnly bool
	// Fake are further options of the fake cluster.
	Fake []kfake.Opt
}

// Cluster is one or more brokers.
type Cluster struct {
	brokers []string
	control string // program that stops and starts real brokers, may be empty

	mu      sync.Mutex
	fake    *kfake.Cluster // nil for real brokers and while stopped
	options []kfake.Opt
	real    bool
}

// Start answers a cluster for the test and closes it, if it is a fake, when the test ends.
func Start(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	named, control := os.Getenv("KAFKA_BROKERS"), os.Getenv("KAFKA_CONTROL")
	if named != "" && !options.FakeOnly && (!options.Restartable || control != "") {
		return &Cluster{brokers: strings.Split(named, ","), control: control, real: true}
	}
	opts := []kfake.Opt{
		kfake.NumBrokers(max(options.Brokers, 1)),
		// A test of a dead member must not wait six seconds, the least a broker allows by default.
		kfake.GroupMinSessionTimeout(100 * time.Millisecond),
	}
	if options.Restartable {
		opts = append(opts, kfake.DataDir(tb.TempDir()))
	}
	opts = append(opts, options.Fake...)
	fake, err := kfake.NewCluster(opts...)
	if err != nil {
		tb.Fatalf("testkafka: start fake cluster: %v", err)
	}
	c := &Cluster{brokers: fake.ListenAddrs(), fake: fake, options: opts}
	tb.Cleanup(func() {
		if err := c.Stop(context.Background()); err != nil {
			tb.Errorf("testkafka: %v", err)
		}
	})
	return c
}

// Brokers are the addresses to bootstrap from. They stay the same over a restart.
func (c *Cluster) Brokers() []string { return c.brokers }

// Fake is the fake cluster, nil on real brokers and while stopped. It is another one after a restart.
func (c *Cluster) Fake() *kfake.Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fake
}

// Stop takes the brokers away. What a fake cluster held is lost unless it is Restartable.
func (c *Cluster) Stop(ctx context.Context) error {
	if c.real {
		return c.tell(ctx, "stop")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fake != nil {
		c.fake.Close()
		c.fake = nil
	}
	return nil
}

// Start brings stopped brokers back on the addresses they had.
func (c *Cluster) Start(ctx context.Context) error {
	if c.real {
		return c.tell(ctx, "start")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fake != nil {
		return errors.New("start fake cluster: it is running")
	}
	ports, err := portsOf(c.brokers)
	if err != nil {
		return err
	}
	opts := append(append([]kfake.Opt(nil), c.options...), kfake.Ports(ports...))
	fake, err := kfake.NewCluster(opts...)
	if err != nil {
		return fmt.Errorf("start fake cluster on %v: %w", c.brokers, err)
	}
	c.fake = fake
	return nil
}

// Restart is Stop and Start.
func (c *Cluster) Restart(ctx context.Context) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	return c.Start(ctx)
}

// tell runs the control program with one word, "stop" or "start"; it returns when that is done.
func (c *Cluster) tell(ctx context.Context, word string) error {
	if c.control == "" {
		return fmt.Errorf("%s the brokers: %w", word, ErrForeignBrokers)
	}
	if out, err := exec.CommandContext(ctx, c.control, word).CombinedOutput(); err != nil {
		return fmt.Errorf("%s the brokers by %s: %w\n%s", word, c.control, err, out)
	}
	return nil
}

func portsOf(addresses []string) ([]int, error) {
	ports := make([]int, len(addresses))
	for i, address := range addresses {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, fmt.Errorf("split broker address: %w", err)
		}
		if ports[i], err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("port of broker %s: %w", address, err)
		}
	}
	return ports, nil
}

// Topic creates a topic under a fresh name and, on real brokers, deletes it when the test ends.
func (c *Cluster) Topic(tb testing.TB, partitions int32) string {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	topic := "idemlint-test-" + uuid.NewString()
	admin, done, err := c.admin()
	if err != nil {
		tb.Fatalf("testkafka: %v", err)
	}
	defer done()
	if _, err := admin.CreateTopic(ctx, partitions, 1, nil, topic); err != nil {
		tb.Fatalf("testkafka: create topic %s: %v", topic, err)
	}
	if c.real {
		tb.Cleanup(func() { c.deleteTopic(tb, topic) })
	}
	return topic
}

func (c *Cluster) deleteTopic(tb testing.TB, topic string) {
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	admin, done, err := c.admin()
	if err != nil {
		tb.Errorf("testkafka: %v", err)
		return
	}
	defer done()
	if _, err := admin.DeleteTopic(ctx, topic); err != nil {
		tb.Errorf("testkafka: delete topic %s: %v", topic, err)
	}
}

// Group is a group name no other test uses.
func (c *Cluster) Group() string { return "idemlint-test-" + uuid.NewString() }

// Client opens a client on the cluster and closes it when the test ends.
func (c *Cluster) Client(tb testing.TB, options ...kgo.Opt) *kgo.Client {
	tb.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.brokers...)}, options...)...)
	if err != nil {
		tb.Fatalf("testkafka: open client: %v", err)
	}
	tb.Cleanup(client.CloseAllowingRebalance)
	return client
}

// Committed answers the offsets that group has committed for topic, by partition. Partitions without a commit are
// missing.
func (c *Cluster) Committed(ctx context.Context, group, topic string) (map[int32]int64, error) {
	admin, done, err := c.admin()
	if err != nil {
		return nil, err
	}
	defer done()
	responses, err := admin.FetchOffsets(ctx, group)
	if err != nil {
		return nil, fmt.Errorf("fetch the offsets of group %s: %w", group, err)
	}
	committed := map[int32]int64{}
	for partition, response := range responses[topic] {
		if response.Err != nil {
			return nil, fmt.Errorf("fetch the offset of group %s, %s/%d: %w", group, topic, partition, response.Err)
		}
		if response.At >= 0 {
			committed[partition] = response.At
		}
	}
	return committed, nil
}

// EndOffsets answers the offset after the last record of each partition of topic.
func (c *Cluster) EndOffsets(ctx context.Context, topic string) (map[int32]int64, error) {
	admin, done, err := c.admin()
	if err != nil {
		return nil, err
	}
	defer done()
	listed, err := admin.ListEndOffsets(ctx, topic)
	if err := errors.Join(err, listed.Error()); err != nil {
		return nil, fmt.Errorf("list the end offsets of %s: %w", topic, err)
	}
	ends := map[int32]int64{}
	listed.Each(func(o kadm.ListedOffset) { ends[o.Partition] = o.Offset })
	return ends, nil
}

func (c *Cluster) admin() (*kadm.Client, func(), error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...))
	if err != nil {
		return nil, nil, fmt.Errorf("open admin client: %w", err)
	}
	return kadm.NewClient(client), client.Close, nil
}
