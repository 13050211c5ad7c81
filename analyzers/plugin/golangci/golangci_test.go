package golangci

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var wantComment = regexp.MustCompile(`(?://|--)\s*want(-alone|-vet|-off)?(-below)?((?:\s+R-KFK-IDEM-[A-Z0-9]+|\s+idemlint)+)\s*$`)

var ruleOf = regexp.MustCompile(`^(?:\w+: )?(R-KFK-IDEM-[A-Z0-9]+|idemlint): `)

// wants are what the comments of fixtures say is due, as "FILE:LINE RULE": those without a suffix, and those with it.
func wants(t *testing.T, dir, suffix string) map[string]bool {
	t.Helper()
	out := make(map[string]bool)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		rel, _ := filepath.Rel(dir, path)
		for sc, n := bufio.NewScanner(f), 1; sc.Scan(); n++ {
			m := wantComment.FindStringSubmatch(sc.Text())
			if m == nil || m[1] != "" && m[1] != suffix {
				continue
			}
			at := n
			if m[2] != "" {
				at++
			}
			for _, rule := range strings.Fields(m[3]) {
				out[fmt.Sprintf("%s:%d %s", filepath.ToSlash(rel), at, rule)] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// configuration is the README's .golangci.yml with other settings, and without golangci-lint's limits on how much is shown.
func configuration(t *testing.T, settings map[string]any) string {
	t.Helper()
	block, err := readmeBlock("# .golangci.yml\n")
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := yaml.Unmarshal([]byte(block), &c); err != nil {
		t.Fatal(err)
	}
	linters := c["linters"].(map[string]any)
	linters["default"] = "none"
	linters["settings"].(map[string]any)["custom"].(map[string]any)["idemlint"].(map[string]any)["settings"] = settings
	c["issues"] = map[string]any{"max-issues-per-linter": 0, "max-same-issues": 0, "uniq-by-line": false}
	data, err := yaml.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// idemlintSettings are the settings in a module's .idemlint.yml.
func idemlintSettings(t *testing.T, dir string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, ".idemlint.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var settings map[string]any
	if err := yaml.Unmarshal(data, &settings); err != nil {
		t.Fatal(err)
	}
	return settings
}

type run struct {
	dir, cache string
	status     int
	stderr     string
	issues     map[string]bool // as "FILE:LINE RULE"
}

// lint runs the linter in dir with a configuration.
func (r *run) lint(t *testing.T, config string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), ".golangci.yml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), linter, "run", "--config", file, "--path-mode=abs", "--output.json.path=stdout", "--show-stats=false", "./...")
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), "GOLANGCI_LINT_CACHE="+r.cache, "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	r.status, r.stderr, r.issues = cmd.ProcessState.ExitCode(), stderr.String(), make(map[string]bool)
	var report struct {
		Issues []struct {
			FromLinter, Text string
			Pos              struct {
				Filename string
				Line     int
			}
		}
	}
	line, _, _ := strings.Cut(stdout.String(), "\n")
	if line == "" {
		return
	}
	if err := json.Unmarshal([]byte(line), &report); err != nil {
		t.Fatalf("%v in %q; standard error:\n%s", err, stdout.String(), stderr.String())
	}
	for _, i := range report.Issues {
		rel, err := filepath.Rel(r.dir, i.Pos.Filename)
		if err != nil {
			t.Fatal(err)
		}
		m := ruleOf.FindStringSubmatch(i.Text)
		if m == nil {
			if !strings.Contains(i.Text, "(related information)") {
				t.Errorf("%s:%d: an issue of %s that is no finding: %s", rel, i.Pos.Line, i.FromLinter, i.Text)
			}
			continue
		}
		r.issues[fmt.Sprintf("%s:%d %s", filepath.ToSlash(rel), i.Pos.Line, m[1])] = true
	}
}

func compare(t *testing.T, r *run, want map[string]bool) {
	t.Helper()
	if maps.Equal(r.issues, want) {
		return
	}
	for w := range want {
		if !r.issues[w] {
			t.Errorf("missing: %s", w)
		}
	}
	for g := range r.issues {
		if !want[g] {
			t.Errorf("unexpected: %s", g)
		}
	}
	if t.Failed() {
		t.Logf("standard error:\n%s", r.stderr)
	}
}

func TestSettingsDoWhatTheConfigurationFileDoesElsewhereAndAChangeOfThemIsSeen(t *testing.T) {
	dir := filepath.Join(root, "testdata", "options")
	with, without := wants(t, dir, ""), wants(t, dir, "-off")
	for w := range with {
		delete(without, w)
	}
	// One cache for all: what was found under other settings must not come out of it.
	r := &run{dir: dir, cache: t.TempDir()}
	settings := idemlintSettings(t, dir)
	for _, step := range []struct {
		name     string
		settings map[string]any
		want     map[string]bool
	}{
		{"with settings", settings, with},
		{"without", nil, without},
		{"with settings again, from the cache", settings, with},
	} {
		t.Run(step.name, func(t *testing.T) {
			r.lint(t, configuration(t, step.settings))
			compare(t, r, step.want)
			if r.status != 1 {
				t.Errorf("exit status %d, want 1:\n%s", r.status, r.stderr)
			}
		})
	}
}

func TestTheRulesFixturesAreJudgedAsByGoVet(t *testing.T) {
	dir := filepath.Join(root, "testdata", "rules")
	r := &run{dir: dir, cache: t.TempDir()}
	r.lint(t, configuration(t, nil))
	compare(t, r, wants(t, dir, "-vet"))
}

const nolinted = `package stock

import "github.com/google/uuid"

type Moved struct{ EventID string }

func plain() Moved { return Moved{EventID: uuid.NewString()} }

func accepted() Moved {
	return Moved{EventID: uuid.NewString()} //nolint:idemlint // the receiver sorts by time
}
`

func TestNolintIsLeftToGolangciLint(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, "testdata", "options", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "stock.go"), []byte(nolinted), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &run{dir: dir, cache: t.TempDir()}
	r.lint(t, configuration(t, nil))
	compare(t, r, map[string]bool{"stock.go:7 R-KFK-IDEM-1": true})
}

func TestAWrongSettingIsRefusedWithTheRightOnes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		settings map[string]any
		want     []string
	}{
		{"unknown", map[string]any{"guard": []string{"example.com/x.F"}}, []string{`unknown field "guard"`, "the settings are guards, dedup-tables,"}},
		{"wrong value", map[string]any{"guards": []string{"Seen"}}, []string{"setting guards:", `"Seen" names no function`}},
		{"no list", map[string]any{"guards": "example.com/x.F"}, []string{"guards", "the settings are"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &run{dir: filepath.Join(root, "testdata", "options"), cache: t.TempDir()}
			r.lint(t, configuration(t, tt.settings))
			if r.status < 2 {
				t.Errorf("exit status %d", r.status)
			}
			for _, w := range tt.want {
				if !strings.Contains(r.stderr, w) {
					t.Errorf("standard error lacks %q:\n%s", w, r.stderr)
				}
			}
		})
	}
}
