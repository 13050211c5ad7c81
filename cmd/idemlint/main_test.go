package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

// tool is the real binary, built once.
var tool string

func TestMain(m *testing.M) {
	os.Exit(withTool(m))
}

func withTool(m *testing.M) int {
	dir, err := os.MkdirTemp("", "idemlint")
	if err != nil {
		fmt.Fprintln(os.Stderr, "making a directory for the binary:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	tool = filepath.Join(dir, "idemlint")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the binary: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

const quickstart = "../../testdata/quickstart"

type result struct {
	stdout, stderr string
	status         int
}

func run(t *testing.T, dir, name string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %s: %v", name, err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// planted are the mistakes in the sample service, found by the text that they stand in.
func planted(t *testing.T) []string {
	t.Helper()
	var places []string
	for _, p := range []struct{ file, text, rule string }{
		{"consumer/handlers.go", ") onPaymentCaptured(", "R-KFK-IDEM-X1"},
		{"consumer/handlers.go", "record.Partition, record.Offset)", "R-KFK-IDEM-X2"},
		{"publisher/publisher.go", "uuid.NewString()", "R-KFK-IDEM-1"},
	} {
		data, err := os.ReadFile(filepath.Join(quickstart, p.file))
		if err != nil {
			t.Fatal(err)
		}
		before, _, ok := strings.Cut(string(data), p.text)
		if !ok {
			t.Fatalf("%s no longer has %q", p.file, p.text)
		}
		places = append(places, fmt.Sprintf("%s:%d: %s", p.file, strings.Count(before, "\n")+1, p.rule))
	}
	return places
}

// reported are the places in a text report, as seen from the sample service.
func reported(text string) []string {
	var places []string
	for _, m := range regexp.MustCompile(`(?m)^(\S+?):(\d+):\d+: (R-KFK-IDEM-\w+)`).FindAllStringSubmatch(text, -1) {
		file := strings.TrimPrefix(filepath.ToSlash(m[1]), quickstart+"/")
		places = append(places, fmt.Sprintf("%s:%s: %s", file, m[2], m[3]))
	}
	slices.Sort(places)
	return places
}

func TestTheMistakesInTheSampleServiceAreFoundAndNothingElse(t *testing.T) {
	got := run(t, ".", tool, "-C", quickstart, "./...")
	if got.status != 1 {
		t.Errorf("exit status %d, want 1; standard error:\n%s", got.status, got.stderr)
	}
	if found, want := reported(got.stdout), planted(t); !slices.Equal(found, want) {
		t.Errorf("found:\n%s\nwant:\n%s\nin:\n%s", strings.Join(found, "\n"), strings.Join(want, "\n"), got.stdout)
	}
}

func TestEveryFindingHasItsSourceLineAndPage(t *testing.T) {
	got := run(t, quickstart, tool, "./...")
	blocks := strings.Split(strings.TrimSpace(got.stdout), "\n\n")
	for _, block := range blocks {
		if !strings.Contains(block, " | ") || !strings.Contains(block, "^") || !strings.Contains(block, "\n    https://") {
			t.Errorf("lacks its source line, caret or page:\n%s", block)
		}
	}
}

func TestATestFileIsReportedOnlyWhenAskedFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(quickstart)); err != nil {
		t.Fatal(err)
	}
	const code = `package publisher

import (
	"github.com/google/uuid"

	"example.com/billing/event"
)

func issued() event.InvoiceIssued { return event.InvoiceIssued{EventID: uuid.NewString()} }
`
	if err := os.WriteFile(filepath.Join(dir, "publisher", "publisher_test.go"), []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	const place = "publisher/publisher_test.go:9:"
	if got := run(t, dir, tool, "./publisher"); strings.Contains(got.stdout, place) {
		t.Errorf("reported without -tests:\n%s", got.stdout)
	}
	if got := run(t, dir, tool, "-tests", "./publisher"); !strings.Contains(got.stdout, place) {
		t.Errorf("not reported with -tests:\n%s%s", got.stdout, got.stderr)
	}
}

func TestTheSampleServicesFixIsTheOneThatItsDiffShows(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(quickstart)); err != nil {
		t.Fatal(err)
	}
	const fixed = "uuid.Must(uuid.NewV7()).String()"
	if diff := run(t, dir, tool, "-diff", "./..."); diff.status != 1 || !strings.Contains(diff.stdout, "+\t\tEventID:   "+fixed) {
		t.Errorf("exit status %d, diff:\n%s%s", diff.status, diff.stdout, diff.stderr)
	}
	got := run(t, dir, tool, "-fix", "./...")
	data, err := os.ReadFile(filepath.Join(dir, "publisher", "publisher.go"))
	if err != nil {
		t.Fatal(err)
	}
	if got.status != 1 || strings.Contains(got.stdout, "publisher.go") || !strings.Contains(string(data), fixed) {
		t.Errorf("exit status %d, left:\n%s%s", got.status, got.stdout, got.stderr)
	}
}

func TestTheReportsOfTheSampleServiceHaveItsFindings(t *testing.T) {
	dir := t.TempDir()
	for _, format := range []string{"sarif", "html"} {
		name := filepath.Join(dir, "report."+format)
		if got := run(t, quickstart, tool, "-format", format, "-o", name, "./..."); got.status != 1 || got.stdout != "" {
			t.Errorf("%s: %+v", format, got)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"Consumer.onPaymentCaptured does its work again", "R-KFK-IDEM-X2", "consumer/handlers.go", "When it stays silent"} {
			if !strings.Contains(string(data), part) {
				t.Errorf("%s lacks %q", format, part)
			}
		}
	}
}

func TestTwentyReportsAreByteEqual(t *testing.T) {
	first := run(t, quickstart, tool, "-json", "./...")
	for range 19 {
		if next := run(t, quickstart, tool, "-json", "./..."); next != first {
			t.Fatalf("two runs differ:\n%+v\n%+v", first, next)
		}
	}
}

// unit is what go vet hands to its tool, as far as the early exit looks at it. Its source file does not exist, so
// that the tool fails if it wants to read it.
type unit struct {
	ID            string
	Compiler      string
	ImportPath    string
	GoVersion     string
	GoFiles       []string
	ModulePath    string
	ModuleVersion string
	PackageVetx   map[string]string
	VetxOnly      bool
	VetxOutput    string
}

func TestTheEarlyExitTakesOnlyWhatCannotMatter(t *testing.T) {
	dir := t.TempDir()
	noFacts, facts := filepath.Join(dir, "none"), filepath.Join(dir, "some")
	for name, text := range map[string]string{noFacts: "", facts: "x"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	possible := semver.Compare(toolsVersion(t), "v0.50.0") < 0
	for _, tt := range []struct {
		name   string
		change func(*unit)
		want   bool
	}{
		{"third party", func(*unit) {}, true},
		{"imports without facts", func(u *unit) { u.PackageVetx["fmt"] = noFacts }, true},
		{"imports with facts", func(u *unit) { u.PackageVetx["x"] = facts }, false},
		{"imports with facts that are gone", func(u *unit) { u.PackageVetx["x"] = filepath.Join(dir, "gone") }, false},
		{"asked for itself", func(u *unit) { u.VetxOnly = false }, false},
		{"main module", func(u *unit) { u.ModuleVersion = "" }, false},
		{"no module and not of the standard library", func(u *unit) { u.ModulePath, u.ModuleVersion = "", "" }, false},
		{"a Kafka client", func(u *unit) { u.ImportPath = "github.com/twmb/franz-go/pkg/kgo" }, false},
		{"an SQL driver", func(u *unit) { u.ImportPath = "github.com/jackc/pgx/v5" }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "vet.out")
			u := &unit{
				ID: "example.com/x", Compiler: "gc", ImportPath: "example.com/x", GoVersion: "go1.26",
				GoFiles:    []string{filepath.Join(dir, "absent.go")},
				ModulePath: "example.com/x", ModuleVersion: "v1.2.3",
				PackageVetx: map[string]string{}, VetxOnly: true, VetxOutput: out,
			}
			tt.change(u)
			data, err := json.Marshal(u)
			if err != nil {
				t.Fatal(err)
			}
			cfg := filepath.Join(t.TempDir(), "vet.cfg")
			if err := os.WriteFile(cfg, data, 0o644); err != nil {
				t.Fatal(err)
			}
			got := run(t, dir, tool, cfg)
			if skipped := got.status == 0; skipped != (tt.want && possible) {
				t.Fatalf("skipped: %v; standard error:\n%s", skipped, got.stderr)
			}
			if info, err := os.Stat(out); got.status == 0 && (err != nil || info.Size() > 0) {
				t.Errorf("the facts of a skipped unit are %v, %v; want an empty file", info, err)
			}
		})
	}
}

// toolsVersion is the version of x/tools in the binary.
func toolsVersion(t *testing.T) string {
	t.Helper()
	m := regexp.MustCompile(`golang\.org/x/tools (v\S+)`).FindStringSubmatch(run(t, ".", tool, "version").stdout)
	if m == nil {
		t.Fatal("idemlint version does not say which x/tools it was built with")
	}
	return m[1]
}

func TestGoVetTakesTheBinaryAsItsTool(t *testing.T) {
	got := run(t, quickstart, "go", "vet", "-vettool="+tool, "./publisher")
	if got.status != 1 || !strings.Contains(got.stderr, "publisher/publisher.go:") || !strings.Contains(got.stderr, "R-KFK-IDEM-1") {
		t.Errorf("exit status %d, standard error:\n%s", got.status, got.stderr)
	}
}

func TestSQLFilesAreLookedAtAlone(t *testing.T) {
	dir := t.TempDir()
	const schema = "CREATE TABLE ledger_refs (\n  event_id uuid,\n  at timestamptz NOT NULL DEFAULT now()\n);\n\nINSERT INTO processed_events (event_id) VALUES ($1);\n" +
		"-- idemlint:ignore R-KFK-IDEM-2 cleaned by the platform's own job\nCREATE TABLE inbox_message (event_id uuid PRIMARY KEY, at timestamptz);\n" +
		"CREATE TABLE received_messages (event_id uuid PRIMARY KEY, at timestamptz);\n" // code may remove its rows
	for name, text := range map[string]string{"schema.sql": schema, "refs.yml": "dedup-tables: [ledger_refs]\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		args []string
		want []string
	}{
		{"by themselves", []string{"sql", "schema.sql"}, []string{"schema.sql:6: R-KFK-IDEM-2"}},
		{"with a configuration", []string{"sql", "-config", "refs.yml", "schema.sql"}, []string{"schema.sql:1: R-KFK-IDEM-2", "schema.sql:6: R-KFK-IDEM-2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := run(t, dir, tool, tt.args...)
			if got.status != 1 || !slices.Equal(reported(got.stdout), tt.want) || strings.Contains(got.stdout, "suppresses nothing") {
				t.Errorf("exit status %d, found %q, want %q:\n%s%s", got.status, reported(got.stdout), tt.want, got.stdout, got.stderr)
			}
		})
	}
}
