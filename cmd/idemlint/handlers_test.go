package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden compares what was printed with a file below testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s (-update writes it) holds:\n%s\nprinted is:\n%s", file, want, got)
	}
}

func TestTheInventoryOfTheSampleService(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, format string }{{"quickstart.txt", "text"}, {"quickstart.json", "json"}} {
		got := run(t, quickstart, tool, "handlers", "-format", c.format, "./...")
		if got.status != 0 || got.stderr != "" {
			t.Errorf("%s: exit status %d: %s", c.format, got.status, got.stderr)
		}
		golden(t, filepath.Join("handlers", c.file), got.stdout)
	}
}

func TestTheREADMEShowsTheInventory(t *testing.T) {
	t.Parallel()
	table := run(t, quickstart, tool, "handlers", "./...").stdout
	for line := range strings.Lines(table) {
		if line = strings.TrimRight(line, "\n"); !strings.Contains(readReadme(t), line) {
			t.Errorf("the README lacks the line\n%s", line)
		}
	}
}

func TestHandlersOnTheCompanionRuntimeAreInTheInventory(t *testing.T) {
	t.Parallel()
	got := run(t, billingModule(t, false), tool, "handlers", "./...")
	if got.status != 0 {
		t.Fatalf("exit status %d: %s", got.status, got.stderr)
	}
	rows := make(map[string]string)
	for line := range strings.Lines(got.stdout) {
		if fields := strings.Fields(line); len(fields) > 3 {
			rows[fields[1]] = strings.Join(fields, " ")
		}
	}
	for name, want := range map[string]string{
		"Billing.intend": "guarded Billing.intend idemlint/runtime - billing-service processed_event mark and work by returning -",
		"Billing.charge": "guarded Billing.charge idemlint/runtime - billing-service processed_event - by returning 1, keyed",
		"Billing.book":   "guarded Billing.book idemlint/runtime - billing-service processed_event mark and work by returning -",
	} {
		if !strings.HasPrefix(rows[name], want) {
			t.Errorf("%s: %q, want %q", name, rows[name], want)
		}
	}
}
