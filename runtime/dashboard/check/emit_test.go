package check

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/runtimetest"
)

const topic = "order-service.order.confirmed"

type payment struct {
	EventID uuid.UUID `json:"eventId"`
	Bad     bool      `json:"bad"`
}

func record(t *testing.T, p payment) *kgo.Record {
	t.Helper()
	value, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return &kgo.Record{Topic: topic, Value: value}
}

// shelf is a dead letter that keeps nothing.
type shelf struct{}

func (shelf) Put(context.Context, runtime.FailedRecord) error { return nil }

// series are metrics by name, as Prometheus stores them, with the values of each label.
type series map[string]map[string][]string

func (s series) add(name string, m *dto.Metric, more ...string) {
	if s[name] == nil {
		s[name] = make(map[string][]string)
	}
	for _, label := range m.GetLabel() {
		s[name][label.GetName()] = append(s[name][label.GetName()], label.GetValue())
	}
	for _, label := range more {
		s[name][label] = nil
	}
}

func gather(t *testing.T, registry *prometheus.Registry) series {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := make(series)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetType() != dto.MetricType_HISTOGRAM {
				out.add(family.GetName(), m)
				continue
			}
			out.add(family.GetName()+"_bucket", m, "le")
			out.add(family.GetName()+"_sum", m)
			out.add(family.GetName()+"_count", m)
		}
	}
	return out
}

// export has the process's global meter provider export to the registry that it returns.
func export(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry))
	if err != nil {
		t.Fatal(err)
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	otel.SetMeterProvider(provider)
	t.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	return registry
}

// emit runs a consumer through all that it has metrics for, with the global meter provider, and returns what
// Prometheus gets to see.
func emit(t *testing.T) series {
	t.Helper()
	registry := export(t)
	pool, broker := runtimetest.Postgres(t), runtimetest.Kafka(t, topic)
	consumer, err := runtime.New(pool, runtime.Config{
		Brokers: broker.Addresses(), Group: "billing-service", DeadLetter: shelf{}, Relay: &runtime.RelayConfig{},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	var failed atomic.Bool
	runtime.Handle(consumer, topic, func(ctx context.Context, tx pgx.Tx, e runtime.Event[payment]) error {
		if failed.CompareAndSwap(false, true) {
			_, err := tx.Exec(ctx, `SELECT FROM a_table_that_is_missing`)
			return err
		}
		if e.Payload.Bad {
			return errors.New("planned")
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	good := record(t, payment{EventID: uuid.Must(uuid.NewV7())})
	again := *good
	broker.Produce(t, good, &again,
		record(t, payment{EventID: uuid.Must(uuid.NewV7()), Bad: true}), record(t, payment{EventID: uuid.New()}))
	broker.AwaitGroup(ctx, t, "billing-service", topic)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		out, s := gather(t, registry), consumer.Stats()
		if out["idemlint_lag"] != nil && out["idemlint_outbox_unsent"] != nil && s.Processed+s.Duplicates+s.Quarantined+s.DeadLettered == 4 && s.OffsetCommits > 0 {
			return gather(t, registry)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("stats are %+v and metrics %v", s, out)
		}
	}
}
