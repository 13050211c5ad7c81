package runtime_test

import (
	"context"
	goruntime "runtime"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/idemlint/idemlint/runtime"
)

func TestAPanicInTheQuarantineIsRetried(t *testing.T) {
	w := newWorld(t, 1)
	events := orders(5, 1)
	events[2].EventID = uuid.New()
	w.produce(events...)
	cfg := w.config()
	cfg.Quarantine = &shakyQuarantine{}
	w.start(cfg, w.ledger)
	w.caughtUp()
	w.exactly(4)
}

func TestAGoroutineThatEndsOutsideOfAHandlerStopsThePartitionWithAnAlarm(t *testing.T) {
	for name, with := range map[string]func(*runtime.Config){
		"decoder":     func(c *runtime.Config) { c.Decoder = leaver{} },
		"dead letter": func(c *runtime.Config) { c.DeadLetter = leaver{} },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			events := orders(5, 1)
			events[2].Amount = -1
			w.produce(events...)
			cfg := w.config()
			with(&cfg)
			r := w.start(cfg, w.ledger)
			w.eventually("the partition stops", func() bool { return len(w.alarmsOf(runtime.AlarmPartitionStopped)) > 0 })
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			w.noGoroutines()
		})
	}
}

// shakyQuarantine panics once and then keeps nothing.
type shakyQuarantine struct{ shaken atomic.Bool }

func (q *shakyQuarantine) Put(context.Context, pgx.Tx, []runtime.Quarantined) error {
	if q.shaken.CompareAndSwap(false, true) {
		panic("planned")
	}
	return nil
}

// leaver ends its goroutine wherever it is called.
type leaver struct{}

func (leaver) Decode(*kgo.Record, any) (uuid.UUID, error)      { goruntime.Goexit(); return uuid.Nil, nil }
func (leaver) Put(context.Context, runtime.FailedRecord) error { goruntime.Goexit(); return nil }
