package analyzers_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/idemlint/idemlint/analyzers/inventory"
)

// handlersOfAll is the inventory of all fixtures.
var handlersOfAll = sync.OnceValues(func() ([]inventory.Handler, error) {
	bin, err := idemlint()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, "handlers", "-json", "./...")
	cmd.Dir = fixtures
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var doc struct{ Handlers []inventory.Handler }
	return doc.Handlers, json.Unmarshal(out, &doc)
})

func handlers(t *testing.T) []inventory.Handler {
	t.Helper()
	all, err := handlersOfAll()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAHandlerIsUnguardedInTheInventoryWhereX1IsReported(t *testing.T) {
	t.Parallel()
	const x1 = "R-KFK-IDEM-X1"
	unguarded := make(map[place]bool)
	for _, h := range handlers(t) {
		if h.Verdict == inventory.Unguarded && h.Accepted == "" {
			unguarded[placeOf(t, fixtures, h.Position, x1)] = true
		}
	}
	found := 0
	for p := range all(t, false) {
		if p.rule != x1 {
			continue
		}
		if found++; !unguarded[p] {
			t.Errorf("%v is reported, and the handler is not unguarded in the inventory", p)
		}
		delete(unguarded, p)
	}
	for p := range unguarded {
		t.Errorf("%v: unguarded in the inventory, and not reported", p)
	}
	if found == 0 {
		t.Error("no fixture has an unguarded handler")
	}
}

func TestAFunctionThatHandsEveryMessageOnIsNoHandler(t *testing.T) {
	t.Parallel()
	var got []string
	for _, h := range handlers(t) {
		if filepath.ToSlash(filepath.Dir(h.Position)) == "x1/fetch_errors_logged" {
			got = append(got, h.Name)
		}
	}
	if want := []string{"Scales.added", "Scales.weighed"}; !slices.Equal(got, want) {
		t.Errorf("the handlers are %q, want %q", got, want)
	}
}

// TestTheInventorySaysWhatTheFixturesShow has one handler for each thing that the inventory can say.
func TestTheInventorySaysWhatTheFixturesShow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in, name string // directory and handler
		want     string // "what: value", separated by "; "
	}{
		{"x1/batch_narrowed", "ByAmount", "verdict: unguarded; client: franz-go; guard: INSERT INTO received_messages does not decide; transaction: work; flow: poll, guard (passed by), effect repeated (reached), commit"},
		{"x1/check_fails_open", "Handler.handle", "verdict: unguarded; guard: INSERT INTO processed_event fails open"},
		{"dir/ignored_at_handler/claims", "Consumer.handle", "verdict: unguarded; topics: fallen; group: forest; accepted: the count is an estimate, a tree more does not matter"},
		{"ackorder/commit_error_logged", "Handler.ConsumeClaim", "verdict: guarded; client: sarama; guard: INSERT INTO processed_event decides; transaction: mark and work; ack: ConsumerGroupSession.MarkMessage although the effect failed; flow: poll, guard decides, effect, commit, ack although the effect failed"},
		{"r4/layered/listener", "Listener.handle", "verdict: guarded; topics: invoices; group: invoices; money: HTTP POST …/debits none"},
		{"r4/gateway_by_type_name", "Service.onLoanApproved", "verdict: given up"},
		{"r4/ok_gateway_is_a_simulator", "Service.onLoanApproved", "verdict: no effect"},
		{"deduptx/helper_marks_on_pool", "Handler.ConsumeClaim", "verdict: guarded; transaction: split"},
		{"x1/ok_redis_absent_key", "Ringer.Claim", "verdict: at most once; guard: Redis SetArgs decides"},
		{"x1/ok_redis_absent_key", "Ringer.Get", "verdict: guarded; guard: Redis Get decides"},
		{"x1/goka_processor", "Counter.name", "verdict: idempotent by nature; client: goka; topics: names; group: clicks; ack: by returning"},
		{"x1/many_handlers", "consumer.onMoved", "verdict: idempotent by nature; client: kafka-go; topics: moved; ack: Reader.CommitMessages"},
		{"x1/cloudevents_receiver", "Minibar.onRefill", "verdict: unguarded; client: cloudevents; ack: by returning"},
		{"ackorder/polled_events", "bySelect", "client: confluent-kafka-go; ack: Consumer.StoreOffsets before the effect"},
		{"ackorder/group_reader_handed_on", "keep", "group: aisles; ack: the read commits what it returns before the effect, by the read itself"},
		{"ackorder/group_reader_made_elsewhere/poller", "Poller.Run", "topics: gauges; group: pressure"},
		{"ackorder/handler_returns_before_goroutine", "Tracker.Moved", "client: watermill; topics: drone.moved; ack: by returning does not wait for the goroutine of the effect"},
		{"x1/ok_mongo_ids_kept", "handler.handle", "topics: coins.earned; group: wallet"},
	} {
		t.Run(c.in+"/"+c.name, func(t *testing.T) {
			i := slices.IndexFunc(handlers(t), func(h inventory.Handler) bool {
				return filepath.ToSlash(filepath.Dir(h.Position)) == c.in && h.Name == c.name
			})
			if i < 0 {
				t.Fatal("the inventory lacks the handler")
			}
			said := facts(handlers(t)[i])
			for want := range strings.SplitSeq(c.want, "; ") {
				if !slices.Contains(said, want) {
					t.Errorf("lacks %q:\n%s", want, strings.Join(said, "\n"))
				}
			}
		})
	}
}

// facts are what the inventory says of a handler, one by one.
func facts(h inventory.Handler) []string {
	out := []string{"verdict: " + string(h.Verdict), "client: " + h.Client, "topics: " + strings.Join(h.Topics, ", "), "group: " + h.Group,
		"transaction: " + string(h.Transaction), "accepted: " + h.Accepted}
	for _, g := range h.Guards {
		out = append(out, "guard: "+g.What+" "+string(g.State))
	}
	for _, a := range h.Acks {
		out = append(out, strings.TrimSpace("ack: "+a.What+" "+a.Fault))
	}
	for _, m := range h.Money {
		out = append(out, "money: "+m.What+" "+m.Key)
	}
	var flow []string
	for _, s := range h.Flow {
		step := strings.TrimSpace(s.Kind + " " + s.State)
		if s.Bypassed {
			step = s.Kind + " (passed by)"
		}
		if s.Bypass {
			step += " (reached)"
		}
		flow = append(flow, step)
	}
	return append(out, "flow: "+strings.Join(flow, ", "))
}
