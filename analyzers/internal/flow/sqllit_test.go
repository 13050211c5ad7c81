package flow

import (
	"fmt"
	"strings"
	"testing"
)

func TestAFormatBecomesWhatSprintfMakesOfIt(t *testing.T) {
	for _, c := range []struct {
		format string
		args   []any
	}{
		{"INSERT INTO %s.%s (event_id) VALUES ($1)", []any{"app", "inbox"}},
		{"INSERT INTO %[2]s.%[1]s", []any{"inbox", "app"}},
		{"%[1]s_%[1]s_%s", []any{"a", "b"}},
		{"100%% of %v", []any{"t"}},
		{"no verbs", nil},
		{"trailing %s", []any{"x"}},
	} {
		args := make([]string, len(c.args))
		for i, a := range c.args {
			args[i] = fmt.Sprint(a)
		}
		if got, want := formatText(c.format, args), fmt.Sprintf(c.format, c.args...); got != want {
			t.Errorf("%q: got %q, want %q", c.format, got, want)
		}
	}
}

func FuzzAFormatOfPlainVerbsBecomesWhatSprintfMakesOfIt(f *testing.F) {
	f.Add("INSERT INTO %s (%s)", "t", "c")
	f.Add("%%%s%", "", "\x00")
	f.Fuzz(func(t *testing.T, format, a, b string) {
		got := formatText(format, []string{a, b})
		if strings.Contains(strings.ReplaceAll(format, "%s", ""), "%") {
			return // other verbs, or faults, of which no text is promised
		}
		n := strings.Count(format, "%s")
		if n > 2 {
			return
		}
		if want := fmt.Sprintf(format, []any{a, b}[:n]...); got != want {
			t.Errorf("%q: got %q, want %q", format, got, want)
		}
	})
}

func TestATextIsPutTogetherUpToAnySizeAStatementHas(t *testing.T) {
	long := strings.Repeat("x", maxJoined-1)
	if v := joinTexts(long, "y", Taint{}); v.K != VStr || v.S != long+"y" {
		t.Errorf("%d bytes are put together to %d", maxJoined, len(v.S))
	}
	if v := joinTexts(long, "yz", Taint{Bits: FromOffset}); v.K == VStr || !v.T.has(FromOffset) {
		t.Errorf("%d bytes are known, or not where they come from", maxJoined+1)
	}
}
