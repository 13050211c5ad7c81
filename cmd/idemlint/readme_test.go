package main_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the README's example")

const readme = "../../README.md"

func readReadme(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestTheREADMEShowsWhatIsPrinted compares the README's example with the finding as the README's command prints it.
func TestTheREADMEShowsWhatIsPrinted(t *testing.T) {
	text := readReadme(t)
	before, rest, ok := strings.Cut(text, "prints this among its findings")
	if !ok {
		t.Fatal("the README no longer announces its example")
	}
	lead, rest, _ := strings.Cut(rest, "```\n")
	example, after, _ := strings.Cut(rest, "```\n")

	var printed string
	for block := range strings.SplitSeq(run(t, "../..", tool, "-C", "testdata/quickstart", "./...").stdout, "\n\n") {
		if strings.Contains(block, "onPaymentCaptured") {
			printed = strings.TrimSpace(block) + "\n"
			break
		}
	}
	if *update && printed != "" {
		text = before + "prints this among its findings" + lead + "```\n" + printed + "```\n" + after
		if err := os.WriteFile(readme, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		example = printed
	}
	if example != printed {
		t.Errorf("the README (-update writes it) shows:\n%s\nprinted is:\n%s", example, printed)
	}
}

func TestTheREADMEListsEveryRule(t *testing.T) {
	text := readReadme(t)
	rules := regexp.MustCompile(`(?m)^ +(\w+) +(R-KFK-IDEM-\w+) `).FindAllStringSubmatch(run(t, ".", tool, "help").stdout, -1)
	if len(rules) == 0 {
		t.Fatal("idemlint help lists no rules")
	}
	for _, m := range rules {
		if row := "| " + m[2] + " | `" + m[1] + "` |"; !strings.Contains(text, row) {
			t.Errorf("the README's table has no row %q", row)
		}
	}
}
