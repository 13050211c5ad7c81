package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	// The tests run a binary that they build; what it is made of is named here, so that go test keeps no result for
	// another one.
	_ "github.com/idemlint/idemlint/analyzers"
	_ "github.com/idemlint/idemlint/cmd/idemlint/internal/cli"
	_ "github.com/idemlint/idemlint/cmd/idemlint/internal/vettool"
)

// block is the YAML of the README that begins with a line.
func block(t *testing.T, first string, into any) {
	t.Helper()
	_, rest, ok := strings.Cut(readReadme(t), "```yaml\n"+first+"\n")
	text, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("the README has no block that begins with %q", first)
	}
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v", first, err)
	}
}

// sample is a copy of the sample service.
func sample(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(quickstart)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// report runs a CI's command, in which idemlint stands for the binary, and wants the sample's findings in its SARIF file.
func report(t *testing.T, command, file string) {
	t.Helper()
	args, ok := strings.CutPrefix(command, "idemlint ")
	if !ok {
		t.Fatalf("not a call of idemlint: %q", command)
	}
	dir := sample(t)
	if got := run(t, dir, tool, strings.Fields(args)...); got.status != 1 {
		t.Fatalf("exit status %d, want 1:\n%s", got.status, got.stderr)
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	var log struct{ Runs []struct{ Results []any } }
	if err := json.Unmarshal(data, &log); err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != len(planted(t)) {
		t.Errorf("%v, %d runs in:\n%s", err, len(log.Runs), data)
	}
}

func TestTheGitHubWorkflowUploadsWhatItsCommandWrites(t *testing.T) {
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]struct {
			Steps []struct {
				Uses, Run string
				If        string
				With      map[string]string
			}
		}
	}
	block(t, "# .github/workflows/idemlint.yml", &workflow)
	steps := workflow.Jobs["idemlint"].Steps
	if len(steps) < 2 || workflow.Permissions["security-events"] != "write" {
		t.Fatalf("the workflow has %d steps and the permissions %v", len(steps), workflow.Permissions)
	}
	lint, upload := steps[len(steps)-2], steps[len(steps)-1]
	if !strings.HasPrefix(upload.Uses, "github/codeql-action/upload-sarif@") || upload.If == "" {
		t.Errorf("the last step is %+v; want an upload, also when there are findings", upload)
	}
	report(t, lint.Run, upload.With["sarif_file"])
}

func TestTheGitLabJobKeepsWhatItsCommandWrites(t *testing.T) {
	var jobs map[string]struct {
		Script    []string
		Artifacts struct {
			When  string
			Paths []string
		}
	}
	block(t, "# .gitlab-ci.yml", &jobs)
	job := jobs["idemlint"]
	if len(job.Script) == 0 || len(job.Artifacts.Paths) != 1 || job.Artifacts.When != "always" {
		t.Fatalf("the job is %+v", job)
	}
	report(t, job.Script[len(job.Script)-1], job.Artifacts.Paths[0])
}

func TestThePreCommitHookFindsTheSamplesMistakes(t *testing.T) {
	data, err := os.ReadFile("../../.pre-commit-hooks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var hooks []struct {
		ID, Entry, Language string
		Args                []string
		PassFilenames       *bool `yaml:"pass_filenames"`
	}
	if err := yaml.Unmarshal(data, &hooks); err != nil || len(hooks) != 1 {
		t.Fatalf("%d hooks, %v", len(hooks), err)
	}
	hook := hooks[0]
	var config struct {
		Repos []struct{ Hooks []struct{ ID string } }
	}
	block(t, "# .pre-commit-config.yaml", &config)
	if config.Repos[0].Hooks[0].ID != hook.ID {
		t.Errorf("the README uses the hook %s, the file has %s", config.Repos[0].Hooks[0].ID, hook.ID)
	}
	// pre-commit runs go install ./... for a hook of this language, and then the entry.
	if _, err := os.Stat(filepath.Join("..", hook.Entry, "main.go")); err != nil || hook.Language != "golang" {
		t.Errorf("language %s installs no %s: %v", hook.Language, hook.Entry, err)
	}
	if hook.PassFilenames == nil || *hook.PassFilenames {
		t.Error("files are handed over; packages are needed")
	}
	if got := run(t, sample(t), tool, hook.Args...); got.status != 1 || len(reported(got.stdout)) != len(planted(t)) {
		t.Errorf("exit status %d:\n%s%s", got.status, got.stdout, got.stderr)
	}
}

func TestTheBinaryIsAToolOfAModule(t *testing.T) {
	dir := sample(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "edit", "-tool=github.com/idemlint/idemlint/cmd/idemlint", "-require=github.com/idemlint/idemlint@v0.0.0", "-replace=github.com/idemlint/idemlint=" + root},
		{"mod", "tidy"},
	} {
		if got := run(t, dir, "go", args...); got.status != 0 {
			t.Fatalf("go %s: %s", strings.Join(args, " "), got.stderr)
		}
	}
	got := run(t, dir, "go", "tool", "idemlint", "./...")
	if len(reported(got.stdout)) != len(planted(t)) {
		t.Errorf("exit status %d:\n%s%s", got.status, got.stdout, got.stderr)
	}
}

func TestAFlagOutdoesTheConfigurationWhereAllPackagesAreJoined(t *testing.T) {
	const options = "../../testdata/options"
	if got := run(t, options, tool, "./strict"); got.status != 1 {
		t.Errorf("with the module's configuration: exit status %d, want 1:\n%s", got.status, got.stderr)
	}
	if got := run(t, options, tool, "-strict=false", "./strict"); got.status != 0 {
		t.Errorf("with -strict=false: exit status %d, want 0:\n%s", got.status, got.stdout)
	}
}
