package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/idemlint/idemlint/runtime"
	"github.com/idemlint/idemlint/runtime/internal/seam"
)

// relayVictimEnv, when set, makes the test binary a relay that kills itself. Its value
// lists brokers, database, step and at which of its occurrences, separated by spaces.
const relayVictimEnv = "IDEMLINT_TEST_RELAY_VICTIM"

const relayVictimBatch = 10

func relayVictim(spec []string) error {
	if len(spec) != 4 {
		return fmt.Errorf("%s holds %d fields", relayVictimEnv, len(spec))
	}
	step, err1 := strconv.Atoi(spec[2])
	at, err2 := strconv.Atoi(spec[3])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, spec[1])
	if err != nil {
		return err
	}
	defer pool.Close()
	r, err := runtime.NewRelay(pool, runtime.RelayConfig{
		Brokers: strings.Split(spec[0], ","), BatchSize: relayVictimBatch, Interval: 10 * time.Millisecond, Logger: logger(),
	})
	if err != nil {
		return err
	}
	return r.Run(killedAt(ctx, seam.Step(step), at))
}

// killRelay runs a relay in a process of its own until it has killed itself at the
// occurrence of a step.
func (w *world) killRelay(step seam.Step, at int) {
	w.Helper()
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d", relayVictimEnv, strings.Join(w.kafka.Brokers(), ","), w.db.URL, step, at))
	cmd.Stderr = os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if ctx.Err() != nil || !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		w.Fatalf("the relay's process was not killed at %s: %v", step, err)
	}
}

// TestKillingTheRelaysProcessLosesNoMessage kills a relay's process with SIGKILL between
// every two steps, in the first batch and in a later one.
func TestKillingTheRelaysProcessLosesNoMessage(t *testing.T) {
	w := newWorld(t, 1)
	out := w.kafka.Topic(t, 2)
	w.fill(out, 200, 8)
	kills := 0
	for _, step := range seam.RelaySteps() {
		for at := range 2 {
			w.killRelay(step, at+1)
			kills++
		}
	}
	if w.unsent() == 0 {
		t.Fatal("nothing was left to publish for the relay that lives")
	}
	w.startRelay(runtime.RelayConfig{})
	w.relayedAll()
	got := w.receipts(out)
	w.inbound(got, 200)
	t.Logf("%d processes were killed, %d messages were published again", kills, len(got)-200)
	if again := len(got) - 200; again < 1 || again > 2*relayVictimBatch {
		t.Errorf("%d messages were published again, want those between the answer and the mark, at most %d", again, 2*relayVictimBatch)
	}
}
