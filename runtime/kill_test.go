package runtime_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// victimEnv, when set, makes the test binary a consumer that kills itself. Its
// value lists brokers, group, topic, database, protocol, step and at which of its
// occurrences, separated by spaces; and the address of a payment provider, if each
// event is to be paid there.
const victimEnv = "IDEMLINT_TEST_VICTIM"

func TestMain(m *testing.M) {
	if spec := os.Getenv(victimEnv); spec != "" {
		if err := victim(strings.Fields(spec)); err != nil {
			log.Fatal(err)
		}
		return
	}
	if spec := os.Getenv(relayVictimEnv); spec != "" {
		if err := relayVictim(strings.Fields(spec)); err != nil {
			log.Fatal(err)
		}
		return
	}
	sideBySide()
	os.Exit(m.Run())
}

// sideBySide lets more of the parallel tests run at once than there are processors, unless the caller has said how many:
// they mostly wait.
func sideBySide() {
	flag.Parse()
	const atOnce = 4
	if n := flag.Lookup("test.parallel"); n.Value.String() == n.DefValue && goruntime.GOMAXPROCS(0) < atOnce {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce)) // it is a number
	}
}

// victim consumes until it is interrupted or has killed itself at the step.
func victim(spec []string) error {
	if len(spec) != 7 && len(spec) != 8 {
		return fmt.Errorf("%s holds %d fields", victimEnv, len(spec))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, spec[3])
	if err != nil {
		return err
	}
	defer pool.Close()
	numbers := make([]int, 3)
	for i, text := range spec[4:7] {
		if numbers[i], err = strconv.Atoi(text); err != nil {
			return err
		}
	}
	cfg := runtime.Config{
		Brokers: strings.Split(spec[0], ","), Group: spec[1],
		Protocol: runtime.Protocol(numbers[0]), BatchSize: 20, Linger: -1, CommitInterval: time.Millisecond,
		Logger: logger(),
	}
	if cfg.Protocol == runtime.Classic {
		// A static member takes its dead predecessor's place at once. With KIP-848
		// it would have to wait for the session timeout, as a dynamic one does.
		cfg.InstanceID = "victim"
	}
	c, err := runtime.New(pool, cfg)
	if err != nil {
		return err
	}
	if len(spec) == 8 {
		call := paymentBy(func(ctx context.Context, asked charge) (slip, error) {
			return chargeAt(ctx, spec[7], http.DefaultTransport, asked)
		})
		call.Timeout = 100 * time.Millisecond
		runtime.HandleCall(c, spec[2], call)
	} else {
		runtime.Handle(c, spec[2], queueOrder)
	}
	return c.Run(killedAt(ctx, seam.Step(numbers[1]), numbers[2]))
}

// killedAt has the process kill itself at an occurrence of a step.
func killedAt(ctx context.Context, step seam.Step, occurrence int) context.Context {
	var hits atomic.Int64
	return seam.With(ctx, func(s seam.Step) error {
		if s == step && hits.Add(1) == int64(occurrence) {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				return err
			}
			select {} // until the signal arrives
		}
		return nil
	})
}

// TestKillingTheProcessLosesAndDoublesNothing kills a consumer's process with
// SIGKILL at every step and starts another one in its place.
func TestKillingTheProcessLosesAndDoublesNothing(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocolName(protocol), func(t *testing.T) {
			w := newWorld(t, 2)
			w.monotone()
			total, kills := 0, 0
			for _, step := range seam.Steps() {
				events := orders(100*scale(t), 10)
				for j := range events {
					events[j].Key = fmt.Sprintf("%s-%s", step, events[j].Key)
				}
				w.produce(withRepeats(events)...)
				total += len(events)
				if w.runVictim(protocol, step, 1+rand.N(2)) {
					kills++
				}
			}
			w.runVictim(protocol, -1, 0)
			t.Logf("%d processes were killed", kills)
			if kills < len(seam.Steps())/2 {
				t.Errorf("only %d processes were killed", kills)
			}
			w.exactly(total)
			w.orderedPerKey()
		})
	}
}

// runVictim runs a consumer in a process of its own until it is dead or the group
// has caught up, and tells whether it was killed.
func (w *world) runVictim(protocol runtime.Protocol, step seam.Step, at int, provider ...string) bool {
	w.Helper()
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %s %s %d %d %d", victimEnv,
		strings.Join(w.kafka.Brokers(), ","), w.group, w.topic, w.db.URL, protocol, step, at)+" "+strings.Join(provider, ""))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		select {
		case err = <-ended:
			var exit *exec.ExitError
			if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
				return true
			}
			w.Fatalf("the consumer's process ended by itself: %v", err)
		case <-deadline:
			_ = cmd.Process.Kill()
			w.Fatalf("the group never caught up: committed %v", w.committed())
		case <-tick.C:
			if !w.done() {
				continue
			}
			_ = cmd.Process.Signal(syscall.SIGTERM)
			select {
			case err := <-ended:
				if err != nil && step < 0 {
					w.Fatalf("the consumer's process ended with %v", err)
				}
				return err != nil
			case <-deadline:
				_ = cmd.Process.Kill()
				w.Fatal("the consumer's process did not end")
			}
		}
	}
}
