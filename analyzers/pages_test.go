package analyzers_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/idemlint/idemlint/analyzers"
	"github.com/idemlint/idemlint/analyzers/internal/rule"
)

// The examples are embedded in the test, so that what is written by one run is in the pages of the next.
var update = flag.Bool("update", false, "write the examples of the rules' pages and the pages; run twice when a fixture has changed")

func pages(t *testing.T) []*rule.Page {
	t.Helper()
	all, err := rule.Pages()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// golden compares a file with what it should be, or writes it.
func golden(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s (-update writes it) is:\n%s\nand should be:\n%s", name, got, want)
	}
}

func TestEveryAnalyzerHasItsPageAsMarkdown(t *testing.T) {
	all := pages(t)
	for _, a := range analyzers.All() {
		i := slices.IndexFunc(all, func(p *rule.Page) bool { return p.Analyzer == a.Name })
		if i < 0 {
			t.Errorf("%s has no page", a.Name)
			continue
		}
		_, file, ok := strings.Cut(a.URL, "/analyzers/")
		if !ok {
			t.Fatalf("the page of %s is not among the analyzers: %s", a.Name, a.URL)
		}
		golden(t, filepath.FromSlash(file), all[i].Markdown())
	}
}

// TestThePagesExamplesAreFixtures cuts the examples out of the fixtures pages/ANALYZER/bad and good, and puts the
// messages that are printed for the bad ones beside them.
func TestThePagesExamplesAreFixtures(t *testing.T) {
	printed := messages(diagnostics(t, fixtures, false, "./pages/..."))
	for _, p := range pages(t) {
		t.Run(p.Analyzer, func(t *testing.T) {
			var archive txtar.Archive
			for _, kind := range []string{"bad", "good"} {
				for _, file := range examplesOf(t, p.Analyzer, kind) {
					name := kind + "/" + filepath.Base(file)
					archive.Files = append(archive.Files, txtar.File{Name: name, Data: marked(t, file)})
					messages := messagesIn(printed, "pages/"+p.Analyzer+"/"+name)
					if (messages != "") != (kind == "bad") {
						t.Errorf("printed for the example %s: %q", name, messages)
					}
					if messages != "" {
						archive.Files = append(archive.Files, txtar.File{Name: name + rule.Printed, Data: []byte(messages)})
					}
				}
			}
			golden(t, filepath.Join("internal", "rule", "examples", p.Analyzer+".txtar"), string(txtar.Format(&archive)))
		})
	}
}

func examplesOf(t *testing.T, analyzer, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtures, "pages", analyzer, kind, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Errorf("no %s example", kind)
	}
	return files
}

var (
	markedPart = regexp.MustCompile(`(?ms)^(?://|--) page:begin\n(.*?)\s*^(?://|--) page:end$`)
	wantLine   = regexp.MustCompile(`(?m)^[ \t]*(?://|--) want(?:-alone|-vet)?-below .*\n`)
	wantEnd    = regexp.MustCompile(`(?m) (?://|--) want(?:-alone|-vet)? .*$`)
)

// marked returns what stands between the marks of a fixture, without the comments that say what is due there.
func marked(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, m := range markedPart.FindAllSubmatch(data, -1) {
		part := wantEnd.ReplaceAllString(wantLine.ReplaceAllString(string(m[1]), ""), "")
		parts = append(parts, strings.TrimSpace(part))
	}
	if len(parts) == 0 {
		t.Fatalf("%s marks no part for the page", file)
	}
	return []byte(strings.Join(parts, "\n\n") + "\n")
}

// messagesIn returns the messages for a file in the order of its lines, one a line.
func messagesIn(all map[place]string, file string) string {
	var at []place
	for p := range all {
		if p.file == file {
			at = append(at, p)
		}
	}
	sort.Slice(at, func(i, j int) bool { return at[i].line < at[j].line })
	var b strings.Builder
	for _, p := range at {
		b.WriteString(all[p] + "\n")
	}
	return b.String()
}

func TestAPageListsTheFlagsOfItsAnalyzer(t *testing.T) {
	every := analyzers.All()
	shared := optionsOf(every[len(every)-1])
	all := pages(t)
	for _, a := range analyzers.All() {
		var want, got []string
		a.Flags.VisitAll(func(f *flag.Flag) {
			// The index is the stand-alone command's own; what all rules have is on one page.
			if f.Name != "index" && (a.Name == rule.Directives || !slices.Contains(shared, f.Name)) {
				want = append(want, a.Name+"."+f.Name)
			}
		})
		for _, p := range all {
			if p.Analyzer == a.Name {
				for _, f := range p.Flags {
					got = append(got, f.Name)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("the page of %s lists the flags %q, it has %q", a.Name, got, want)
		}
	}
}

func TestExplainTakesIDsTheirTailsAndAnalyzers(t *testing.T) {
	for _, tt := range []struct {
		word string
		want []string // the pages' headings begin so
	}{
		{"dedupcheck", []string{"# R-KFK-IDEM-X1 (dedupcheck): "}},
		{"R-KFK-IDEM-X1", []string{"# R-KFK-IDEM-X1 (dedupcheck): "}},
		{"x2", []string{"# R-KFK-IDEM-X2 (offsetkey): "}},
		{"1", []string{"# R-KFK-IDEM-1 (uuidv7): ", "# R-KFK-IDEM-1 (payloadid): "}},
		{"ackorder", []string{"# R-KFK-IDEM-3 (ackorder): "}},
		{"idemlint", []string{"# idemlint: "}},
		{"", nil},
		{"security", nil},
	} {
		text, ok, err := analyzers.Explain(tt.word)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, line := range strings.Split(text, "\n") {
			if head, _, found := strings.Cut(line, ": "); found && strings.HasPrefix(line, "# ") {
				got = append(got, head+": ")
			}
		}
		if !slices.Equal(got, tt.want) || ok != (len(tt.want) > 0) {
			t.Errorf("Explain(%q) has the pages %q (%t), want %q", tt.word, got, ok, tt.want)
		}
	}
}
