package analyzers_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"
)

// The fixtures are a module of their own, with the real client libraries. A comment at the end of a line says what is
// due there: `// want RULE` in every way of running, `// want-alone RULE` only where the whole module is seen,
// `// want-vet RULE` only package by package, where a finding stands at the binding,
// `// want-below RULE` on the next line; `want-alone-below` joins two.
var fixtures, _ = filepath.Abs("../testdata/rules")

var wantComment = regexp.MustCompile(`(?://|--)\s*want(-alone|-vet|-off)?(-below)?((?:\s+R-KFK-IDEM-[A-Z0-9]+|\s+idemlint)+)\s*$`)

// place is a finding: the file below the fixtures, the line, the rule.
type place struct {
	file string
	line int
	rule string
}

func (p place) String() string { return fmt.Sprintf("%s:%d %s", p.file, p.line, p.rule) }

func TestFindingsStandWhereTheFixturesSay(t *testing.T) {
	for _, mode := range []struct{ name, suffix string }{{"stand-alone", "-alone"}, {"go vet", "-vet"}} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			want := wants(t, fixtures, mode.suffix)
			got := messages(all(t, mode.suffix == "-vet"))
			for _, s := range scenarios(t) {
				t.Run(s, func(t *testing.T) {
					compare(t, below(want, s), below(got, s))
				})
			}
		})
	}
}

func compare(t *testing.T, want, got map[place]string) {
	for p := range want {
		if _, ok := got[p]; !ok {
			t.Errorf("missing: %v", p)
		}
	}
	for p, msg := range got {
		if _, ok := want[p]; !ok {
			t.Errorf("unexpected: %v: %s", p, msg)
		}
	}
}

// scenarios are the directories two below the fixtures' root: rule/kind.
func scenarios(t *testing.T) []string {
	dirs, err := filepath.Glob(filepath.Join(fixtures, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range dirs {
		if fi, err := os.Stat(d); err == nil && fi.IsDir() {
			rel, _ := filepath.Rel(fixtures, d)
			out = append(out, filepath.ToSlash(rel))
		}
	}
	if len(out) == 0 {
		t.Fatal("no fixtures")
	}
	sort.Strings(out)
	return out
}

func below(all map[place]string, dir string) map[place]string {
	out := make(map[place]string)
	for p, msg := range all {
		if strings.HasPrefix(p.file, dir+"/") {
			out[p] = msg
		}
	}
	return out
}

func wants(t *testing.T, root, suffix string) map[place]string {
	out := make(map[place]string)
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".sql") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		rel, _ := filepath.Rel(root, path)
		for sc, n := bufio.NewScanner(f), 1; sc.Scan(); n++ {
			m := wantComment.FindStringSubmatch(sc.Text())
			if m == nil || m[1] != "" && m[1] != suffix {
				continue
			}
			at := n
			if m[2] == "-below" {
				at++ // a directive takes its whole line
			}
			for _, rule := range strings.Fields(m[3]) {
				out[place{filepath.ToSlash(rel), at, rule}] = ""
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// built is where the command is built.
var built string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "idemlint")
	if err != nil {
		panic(err)
	}
	built = dir
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// idemlint builds the command once.
var idemlint = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(built, "idemlint")
	out, err := exec.Command("go", "build", "-o", bin, "../cmd/idemlint").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return bin, nil
})

// ofAll holds the diagnostics of all fixtures, which several tests ask for: by go vet, and stand-alone.
var ofAll struct {
	sync.Mutex
	by map[bool]map[place]diagnostic
}

// all are the diagnostics of all fixtures.
func all(t *testing.T, vet bool) map[place]diagnostic {
	t.Helper()
	ofAll.Lock()
	defer ofAll.Unlock()
	if ofAll.by == nil {
		ofAll.by = make(map[bool]map[place]diagnostic)
	}
	if ofAll.by[vet] == nil {
		ofAll.by[vet] = diagnostics(t, fixtures, vet, "./...")
	}
	return ofAll.by[vet]
}

// diagnostics are what is printed for the packages of a module, which is a copy of the fixtures or these themselves.
func diagnostics(t *testing.T, dir string, vet bool, patterns ...string) map[place]diagnostic {
	t.Helper()
	bin, err := idemlint()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, append([]string{"-json"}, patterns...)...)
	if vet {
		cmd = exec.Command("go", append([]string{"vet", "-vettool=" + bin, "-json"}, patterns...)...)
	}
	cmd.Dir = dir
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	out := make(map[place]diagnostic)
	dec := json.NewDecoder(strings.NewReader(stdout.String()))
	for {
		var tree map[string]map[string]json.RawMessage
		if err := dec.Decode(&tree); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the output is not JSON: %v\n%s", err, stdout.String())
		}
		for _, byAnalyzer := range tree {
			for _, raw := range byAnalyzer {
				for _, d := range decodeDiagnostics(t, raw) {
					out[placeOf(t, dir, d.Posn, d.Category)] = d
				}
			}
		}
	}
	return out
}

func placeOf(t *testing.T, dir, posn, rule string) place {
	parts := strings.Split(posn, ":")
	if len(parts) < 2 {
		t.Fatalf("no position: %q", posn)
	}
	file := parts[0]
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	rel, err := filepath.Rel(dir, file)
	if err != nil {
		t.Fatal(err)
	}
	var line int
	fmt.Sscan(parts[1], &line)
	return place{filepath.ToSlash(rel), line, rule}
}

func TestAHelperThatMakesSeveralMoneyCallsIsReportedForTheOneWithoutAKey(t *testing.T) {
	for _, vet := range []bool{false, true} {
		for p, d := range all(t, vet) {
			if !strings.HasPrefix(p.file, "r4/helper_of_two_calls/") {
				continue
			}
			if want := "/charges, reached by Gate.handle, has no idempotency key ("; !strings.Contains(d.Message, want) {
				t.Errorf("go vet is %v: got %q, want in it %q", vet, d.Message, want)
			}
		}
	}
}
