package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
)

// words is a flag that takes several values.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }

func (w *words) IsList() bool { return true }

func (w *words) Set(s string) error {
	if strings.HasPrefix(s, "bad") {
		return os.ErrInvalid
	}
	*w = append(*w, s)
	return nil
}

func options() ([]*flag.Flag, *words, *bool) {
	var fs flag.FlagSet
	guards := new(words)
	fs.Var(guards, "guards", "")
	strict := fs.Bool("strict", false, "")
	fs.Int("limit", 1, "")
	var all []*flag.Flag
	fs.VisitAll(func(f *flag.Flag) { all = append(all, f) })
	return all, guards, strict
}

func read(t *testing.T, text string, all []*flag.Flag) ([]config.Setting, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return config.Read(file, ".idemlint.yml", all)
}

func TestEveryValueGoesThroughItsOption(t *testing.T) {
	all, guards, strict := options()
	const text = "# ours\nguards:\n  - a.F\n  - b.G # the second\nlimit: 7\nstrict: true\n"
	settings, err := read(t, text, all)
	if err != nil {
		t.Fatal(err)
	}
	if want := (words{"a.F", "b.G"}); !slices.Equal(*guards, want) || !*strict {
		t.Errorf("guards are %q, strict is %v; want %q, true", *guards, *strict, want)
	}
	want := []config.Setting{{"guards", "a.F", false, 3}, {"guards", "b.G", false, 4}, {"limit", "7", false, 5}, {"strict", "true", true, 6}}
	if !slices.Equal(settings, want) {
		t.Errorf("settings are %v, want %v", settings, want)
	}
}

func TestAFileThatSaysNothingSetsNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "---\n", "guards:\n", "guards: []\n"} {
		all, _, _ := options()
		if settings, err := read(t, text, all); err != nil || len(settings) > 0 {
			t.Errorf("%q: got %v, %v", text, settings, err)
		}
	}
}

func TestTheErrorOfAFaultyFileNamesItsLineAndWhatToWrite(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"misspelt key", "strict: true\nguard: [a.F]\n", `.idemlint.yml:2: unknown key "guard"; did you mean "guards"?`},
		{"unknown key", "\ncolour: red\n", `.idemlint.yml:2: unknown key "colour"; the keys are guards, limit, strict`},
		{"key given twice", "guards: [a.F]\nstrict: true\nguards: [b.G]\n", ".idemlint.yml:3: guards stands in line 1 already; put its values together"},
		{"wrong value", "guards:\n  - a.F\n  - bad\n", ".idemlint.yml:3: guards: invalid argument"},
		{"no bool", "strict: perhaps\n", ".idemlint.yml:1: strict wants true or false"},
		{"list for a bool", "strict:\n  - true\n", ".idemlint.yml:2: strict wants true or false"},
		{"list for a number", "limit: [1, 2]\n", ".idemlint.yml:1: limit wants one value"},
		{"no number", "limit: many\n", `.idemlint.yml:1: limit: parse error`},
		{"mapping for a list", "guards:\n  a.F: yes\n", `.idemlint.yml:2: guards wants a list: one "  - VALUE" a line`},
		{"list in a list", "guards:\n  - a.F\n  - [b.G]\n", `.idemlint.yml:3: guards wants a list of plain values: one "  - VALUE" a line`},
		{"no mapping", "- guards\n", ".idemlint.yml:1: want KEY: VALUE; the keys are guards, limit, strict"},
		{"not YAML", "strict: true\nguards: [a.F\n", ".idemlint.yml:2: not YAML: "},
		{"a tab", "guards:\n\n\t- a.F\n", ".idemlint.yml:3: not YAML: "},
		{"two documents", "strict: true\n---\nstrict: false\n", ".idemlint.yml:1: a second document; put all keys into one"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all, _, _ := options()
			_, err := read(t, tt.text, all)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func FuzzAFileIsReadOrRefusedWithItsName(f *testing.F) {
	f.Add("guards:\n  - a.F\nstrict: true\n")
	f.Add("a: &x [1]\nguards: *x\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, _, _ := options()
		if _, err := read(t, text, all); err != nil && !strings.HasPrefix(err.Error(), ".idemlint.yml:") {
			t.Errorf("the error does not begin with the file: %v", err)
		}
	})
}
