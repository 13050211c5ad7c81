package report_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/analyzers/inventory"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/report"
)

func handlersPage(t *testing.T, r *report.Report, handlers ...inventory.Handler) string {
	t.Helper()
	var out strings.Builder
	if err := report.HandlersHTML(&out, r, handlers); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// bypassed is a handler whose check does not stop a repeat.
func bypassed(root string) inventory.Handler {
	at := func(s string) string { return filepath.Join(root, s) }
	return inventory.Handler{
		Name: "Till.onPaid", Package: "shop/till", Position: at("till.go:9:1"), Verdict: inventory.Unguarded, Reason: "INSERT INTO sales is reached whatever the check says",
		Client: "franz-go", Topics: []string{"paid"}, Group: "till", Transaction: inventory.Split,
		Guards:  []inventory.Guard{{What: "INSERT INTO inbox", Position: at("till.go:10:2"), Table: "inbox", State: inventory.Ignored}},
		Effects: []inventory.Effect{{Kind: "database", What: "INSERT INTO sales", Position: at("till.go:11:2"), Repeated: true}},
		Acks:    []inventory.Ack{{What: "CommitRecords", Position: at("till.go:12:2"), Fault: "before the effect"}},
		Money:   []inventory.MoneyCall{{What: "HTTP POST /charges", Key: "none", Fault: true}},
		Flow: []inventory.Step{
			{Kind: inventory.StepPoll, What: "franz-go"},
			{Kind: inventory.StepGuard, What: "INSERT INTO inbox", Position: at("till.go:10:2"), State: string(inventory.Ignored), Bypassed: true},
			{Kind: inventory.StepEffect, What: "INSERT INTO sales", Position: at("till.go:11:2"), State: "repeated", Bypass: true},
			{Kind: inventory.StepAck, What: "CommitRecords", Position: at("till.go:12:2"), State: "before the effect"},
		},
	}
}

func TestThePageOfHandlersSaysAllThatIsKnown(t *testing.T) {
	text := handlersPage(t, &report.Report{Base: "/src", Version: "v9", Problems: []report.Problem{{Message: "package m/b does not build"}}}, bypassed("/src"))
	for _, want := range []string{
		"<title>idemlint: 1 handler: 1 unguarded</title>", "<h2>shop/till</h2>", "Till.onPaid", ">till.go:9:1<", "reached whatever the check says.",
		">paid<", ">split<", "inbox does not decide", "CommitRecords before the effect", "HTTP POST /charges, key: none", `title="till.go:11:2">till.go:11<`,
		"Not everything was analysed.", "package m/b does not build", "idemlint v9", "<option>shop/till</option>", `value="unguarded"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q", want)
		}
	}
}

// lanes are the parts of the red way beside the flow, in order, with "check" for a red edge without a check on it.
func lanes(text string) string {
	var out []string
	for _, m := range regexp.MustCompile(`class="lane (\w+)"|<i>no (check)</i>`).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1]+m[2])
	}
	return strings.Join(out, " ")
}

func TestTheUnguardedWayIsDrawnPastWhatDoesNotStopIt(t *testing.T) {
	h := bypassed("/src")
	if got := lanes(handlersPage(t, &report.Report{}, h)); got != "start mid end" {
		t.Errorf("past the check: %q", got)
	}
	h.Flow = append(h.Flow[:1:1], h.Flow[2:]...)
	if got := lanes(handlersPage(t, &report.Report{}, h)); got != "check" {
		t.Errorf("without a check: %q", got)
	}
	h.Verdict, h.Flow[1].Bypass, h.Flow[1].State = inventory.Guarded, false, ""
	if got := lanes(handlersPage(t, &report.Report{}, h)); got != "" {
		t.Errorf("of a guarded handler: %q", got)
	}
}

func TestThePageOfHandlersNeedsNothingElseAndTakesNoMarkup(t *testing.T) {
	h := bypassed("/src")
	h.Name, h.Reason, h.Topics, h.Flow[0].What = "<script>alert(1)</script>", "<img src=x>", []string{"<b>"}, "<i onload=x>"
	text := handlersPage(t, &report.Report{}, h)
	for _, bad := range regexp.MustCompile(`(?i)<script>alert|<b>&|<i onload|<(?:link|img|iframe|object|embed|base|audio|video|source)\b|\bsrc\s*=\s*["']|@import|url\(|\bfetch\(|XMLHttpRequest`).FindAllString(text, -1) {
		t.Errorf("has %s", bad)
	}
	if !strings.Contains(text, `content="default-src 'none';`) {
		t.Error("the page's policy lets it load what it likes")
	}
}

func TestAPageOfManyHandlersShowsThemClosed(t *testing.T) {
	var many []inventory.Handler
	for i := range 300 {
		h := bypassed("/src")
		h.Name = fmt.Sprint("Till.on", i)
		many = append(many, h)
	}
	if n := strings.Count(handlersPage(t, &report.Report{}, many[:3]...), " open>"); n != 3 {
		t.Errorf("%d of 3 are open", n)
	}
	text := handlersPage(t, &report.Report{}, many...)
	if n := strings.Count(text, " open>"); n != 0 {
		t.Errorf("%d of 300 are open", n)
	}
	if n := strings.Count(text, "<details"); n != 300 {
		t.Errorf("%d of 300 are there", n)
	}
}

func TestTheTableColoursVerdictsAndKeepsItsColumns(t *testing.T) {
	other := inventory.Handler{Name: "X", Package: "shop/till", Position: "/src/x.go:1:1", Verdict: inventory.NoEffect}
	var plain, coloured strings.Builder
	for _, c := range []struct {
		color bool
		out   *strings.Builder
	}{{false, &plain}, {true, &coloured}} {
		if err := report.HandlersTable(c.out, &report.Report{Base: "/src", Color: c.color}, []inventory.Handler{bypassed("/src"), other}); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(coloured.String(), "\x1b[1;31munguarded\x1b[0m") {
		t.Errorf("no red verdict:\n%q", coloured.String())
	}
	if got := regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(coloured.String(), ""); got != plain.String() {
		t.Errorf("in colour:\n%s\nplain:\n%s", got, plain.String())
	}
	for _, want := range []string{"unguarded  Till.onPaid  franz-go  paid", "1, 1 without a right key", "2 handlers: 1 unguarded, 1 no effect", "till.go:9:1"} {
		if !strings.Contains(plain.String(), want) {
			t.Errorf("lacks %q:\n%s", want, plain.String())
		}
	}
}

func TestTheJSONOfNoHandlersIsAnEmptyList(t *testing.T) {
	var out strings.Builder
	if err := report.HandlersJSON(&out, &report.Report{Problems: []report.Problem{{Message: "package m/b does not build"}}}, nil); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatal(err)
	}
	if list, ok := doc["handlers"].([]any); !ok || len(list) != 0 {
		t.Errorf("handlers is %v", doc["handlers"])
	}
	if got := fmt.Sprint(doc["problems"]); got != "[package m/b does not build]" {
		t.Errorf("problems are %s", got)
	}
}
