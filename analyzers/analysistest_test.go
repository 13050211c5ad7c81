package analyzers_test

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/analysis/checker"

	"github.com/idemlint/idemlint/analyzers"
)

// It sees package by package what go vet sees, but all of them from their sources and in one process.
func TestFindingsStandWhereTheFixturesSayUnderAnalysistest(t *testing.T) {
	want := wants(t, fixtures, "-vet")
	got := underAnalysistest(t, fixtures)
	for _, s := range scenarios(t) {
		t.Run(s, func(t *testing.T) {
			compare(t, below(want, s), below(got, s))
		})
	}
}

// underAnalysistest are the messages for all packages of a module. They are loaded once: the analyzer that looks after
// directives requires the rules, whose findings are those of the actions that its own depend on.
func underAnalysistest(t *testing.T, dir string) map[place]string {
	t.Helper()
	// analysistest itself asks no module proxy.
	fetch := exec.Command("go", "list", "-deps", "-test", "./...")
	fetch.Dir = dir
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", fetch.Args, err, out)
	}
	all := analyzers.All()
	var heard complaints
	results := analysistest.Run(&heard, dir, all[len(all)-1], "./...")
	for _, c := range heard.list {
		t.Error(c)
	}
	out := make(map[place]string)
	for _, r := range results {
		for _, act := range append([]*checker.Action{r.Action}, r.Action.Deps...) {
			if act.Package != r.Action.Package {
				continue
			}
			for _, d := range act.Diagnostics {
				out[placeOf(t, dir, act.Package.Fset.Position(d.Pos).String(), d.Category)] = d.Message
			}
		}
	}
	return out
}

// complaints are what analysistest has against a run. Its own language of expectations is another than the fixtures', so
// that it understands none of these and expects no finding; what it says about that is left out.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) Errorf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if strings.Contains(text, ": in 'want' comment: ") || strings.Contains(text, ": unexpected diagnostic: ") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, text)
}
