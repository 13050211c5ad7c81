package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Repeat answers records with a share of them, from 0 to 1, there twice: the second time somewhere after the first,
// as from a producer that did not get its answer, or a consumer's rewind. The repeats are of the records chosen by
// random; with a share of 1 it is every one.
func Repeat(records []*kgo.Record, share float64, random *rand.Rand) []*kgo.Record {
	after := make([][]*kgo.Record, len(records)) // by the index after which the repeats come
	total := len(records)
	for i, r := range records {
		if random.Float64() < share {
			at := i + random.IntN(len(records)-i)
			after[at] = append(after[at], r)
			total++
		}
	}
	out := make([]*kgo.Record, 0, total)
	for i, r := range records {
		out = append(append(out, r), after[i]...)
	}
	return out
}

// shuffle answers records in another order that keeps the order of each topic's keys.
func shuffle(records []*kgo.Record, random *rand.Rand) []*kgo.Record {
	lines := map[string][]*kgo.Record{}
	places := make([]string, len(records))
	for i, r := range records {
		line := r.Topic + "\x00" + string(r.Key)
		lines[line] = append(lines[line], r)
		places[i] = line
	}
	random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	out := make([]*kgo.Record, len(records))
	for i, line := range places {
		out[i] = lines[line][0]
		lines[line] = lines[line][1:]
	}
	return out
}

// ChaosHeader marks the repeats that Chaos makes. Its value is the offset of the record that was repeated.
const ChaosHeader = "idemlint-chaos-repeat-of"

// Chaos repeats records of topics: what it reads it sends again, a given share of it, to the partition it came from,
// unchanged but for ChaosHeader. Beside a service in a test or on a staging cluster it shows whether repeats do harm.
// Every group that reads the topics gets the repeats; it is not for production.
type Chaos struct {
	// Brokers are the addresses of some brokers. Required.
	Brokers []string
	// Topics are the topics to repeat records of. Required.
	Topics []string
	// Rate is the share of records to repeat, above 0 and at most 1. Required.
	Rate float64
	// FromStart repeats records that are there already; otherwise only those that come from now on.
	FromStart bool
	// Seed chooses the records; the default is always the same.
	Seed uint64
	// Options are further options of the client, such as TLS and SASL.
	Options []kgo.Opt
	// OnRepeat is called for each repeat that the brokers have taken.
	OnRepeat func(repeat *kgo.Record)
}

func (c Chaos) validate() error {
	var failures []error
	if len(c.Brokers) == 0 {
		failures = append(failures, errors.New("Brokers is empty"))
	}
	if len(c.Topics) == 0 {
		failures = append(failures, errors.New("Topics is empty"))
	}
	if !(c.Rate > 0 && c.Rate <= 1) {
		failures = append(failures, fmt.Errorf("Rate %v is not above 0 and at most 1", c.Rate))
	}
	return errors.Join(failures...)
}

// Run repeats records until ctx ends and answers how many it repeated. It answers an error as soon as it cannot read
// or write.
func (c Chaos) Run(ctx context.Context) (repeated int, err error) {
	if err := c.validate(); err != nil {
		return 0, fmt.Errorf("chaos: %w", err)
	}
	start := kgo.NewOffset().AtEnd()
	if c.FromStart {
		start = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ConsumeTopics(c.Topics...),
		kgo.ConsumeStartOffset(start),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, c.Options...)...)
	if err != nil {
		return 0, fmt.Errorf("chaos: open client: %w", err)
	}
	defer client.Close()
	random := rand.New(rand.NewPCG(c.Seed, 0))
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return repeated, nil
		}
		if err := fetches.Err(); err != nil {
			return repeated, fmt.Errorf("chaos: read %s: %w", strings.Join(c.Topics, ", "), err)
		}
		repeats := c.choose(fetches, random)
		if len(repeats) == 0 {
			continue
		}
		results := client.ProduceSync(ctx, repeats...)
		for _, result := range results {
			if result.Err != nil {
				continue
			}
			repeated++
			if c.OnRepeat != nil {
				c.OnRepeat(result.Record)
			}
		}
		if err := results.FirstErr(); err != nil && ctx.Err() == nil {
			return repeated, fmt.Errorf("chaos: repeat records: %w", err)
		}
	}
}

// choose makes repeats of some of the records, never of repeats.
func (c Chaos) choose(fetches kgo.Fetches, random *rand.Rand) []*kgo.Record {
	var repeats []*kgo.Record
	fetches.EachRecord(func(r *kgo.Record) {
		for _, h := range r.Headers {
			if h.Key == ChaosHeader {
				return
			}
		}
		if random.Float64() >= c.Rate {
			return
		}
		repeats = append(repeats, &kgo.Record{
			Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Timestamp: r.Timestamp,
			Headers: append(append([]kgo.RecordHeader(nil), r.Headers...),
				kgo.RecordHeader{Key: ChaosHeader, Value: []byte(strconv.FormatInt(r.Offset, 10))}),
		})
	})
	return repeats
}
