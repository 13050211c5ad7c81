package cli_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// answered runs idemlint with what is typed.
func answered(t *testing.T, dir, typed string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self(t), args...)
	cmd.Dir, cmd.Env = dir, append(environ(), "PWD="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(typed), &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func TestInitShowsWhatItWouldWriteAndWritesItWhenAsked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, typed string
		args        []string
		written     bool
	}{
		{"yes", "y\n", []string{"init"}, true},
		{"no", "n\n", []string{"init"}, false},
		{"no answer", "", []string{"init"}, false},
		{"not asked", "", []string{"init", "-y"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := module(t, strictShop)
			got := answered(t, filepath.Join(dir, "below"), tt.typed, tt.args...)
			wantStatus(t, got, 0)
			wantContains(t, "standard output", got.stdout, ".idemlint.yml, a new file:\n", "  + #strict: true\n")
			if asked := strings.Contains(got.stdout, "Write this? [y/N] "); asked != (len(tt.args) == 1) {
				t.Errorf("asked: %v", asked)
			}
			_, err := os.Stat(filepath.Join(dir, ".idemlint.yml"))
			if written := err == nil; written != tt.written {
				t.Errorf("written: %v, want %v", written, tt.written)
			}
			if tt.written {
				wantStatus(t, idemlint(t, dir, "./..."), 0) // what was written can be read
			}
		})
	}
}

func TestInitWritesTheConfigurationOfAWorkspaceAtItsRoot(t *testing.T) {
	t.Parallel()
	dir := module(t, workspace)
	got := answered(t, dir, "", "init", "-y")
	wantStatus(t, got, 0)
	wantContains(t, "standard output", got.stdout, "wrote .idemlint.yml\n")
}

func TestInitLeavesWhatIsThere(t *testing.T) {
	t.Parallel()
	dir := module(t, strictShop)
	writeFile(t, filepath.Join(dir, ".idemlint.yml"), "strict: true\n")
	got := answered(t, dir, "", "init", "-y")
	wantStatus(t, got, 0)
	wantContains(t, "standard output", got.stdout, ".idemlint.yml is there and stays as it is\n", "nothing to write\n")
	if data, _ := os.ReadFile(filepath.Join(dir, ".idemlint.yml")); string(data) != "strict: true\n" {
		t.Errorf("the file is now:\n%s", data)
	}
}

func TestAWrongCallOfASubcommandSaysTheRightOne(t *testing.T) {
	t.Parallel()
	dir := module(t, strictShop)
	writeFile(t, filepath.Join(dir, "a.sql"), "SELECT 1;\n")
	for _, tt := range []struct {
		args []string
		dir  string
		want string
	}{
		{[]string{"init", "now"}, dir, "init takes no arguments but -y, and works on the module of the current directory: idemlint init"},
		{[]string{"init"}, t.TempDir(), "no go.mod here or above; go to the module, or make one: go mod init example.com/name"},
		{[]string{"sql"}, dir, "name the files: idemlint sql migrations/*.sql"},
		{[]string{"sql", "b.sql"}, dir, "no file b.sql; name .sql files: idemlint sql migrations/*.sql"},
		{[]string{"sql", "below"}, dir, "below is a directory; name the files in it: idemlint sql below/*.sql"},
		{[]string{"sql", "shop.go"}, dir, "shop.go is a Go file; SQL in Go code is looked at with its package: idemlint ./..."},
		{[]string{"sql", "a.sql", "-json"}, dir, "flags go before the packages: idemlint -json a.sql"},
		{[]string{"sql", "-diff", "a.sql"}, dir, "sql only reports; for -fix, -diff, -baseline and -new-from-rev run it all: idemlint ./..."},
		{[]string{"handlers", "-fix"}, dir, "handlers lists all handlers, with or without findings; -rules, -fix, -diff, -baseline and -new-from-rev are for findings: idemlint ./..."},
		{[]string{"handlers", "-format", "sarif"}, dir, "handlers are shown as text, json or html, and findings as sarif: idemlint -format sarif ./..."},
		{[]string{"handlers", "./nowhere"}, dir, "no directory ./nowhere; name a directory (./consumer), an import path, or ./... for everything below the current directory"},
		{[]string{"handler"}, dir, `no command or package "handler"; did you mean "idemlint handlers"?`},
		{[]string{"completion"}, dir, "name a shell: idemlint completion bash|zsh|fish"},
		{[]string{"completion", "fissh"}, dir, `no completion for "fissh"; did you mean "fish"?`},
		{[]string{"completion", "tcsh"}, dir, `no completion for "tcsh"; there is one for bash, zsh, fish`},
		{[]string{"intt"}, dir, `no command or package "intt"; did you mean "idemlint init"?`},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			t.Parallel()
			got := idemlint(t, tt.dir, tt.args...)
			wantStatus(t, got, 2)
			wantContains(t, "standard error", got.stderr, "idemlint: "+tt.want+"\n")
		})
	}
}

const handlersShop = `
-- go.mod --
module example.com/shop

go 1.24
-- shop.go --
package shop

func HandleOrder() {}

func BadHandler() {}
-- dep/dep.go --
package dep

func HandleOther() {}
-- broken/broken.go --
package broken

func HandleNothing() { undefined() }
`

func TestHandlersAreThoseOfTheNamedPackagesWhateverWasFound(t *testing.T) {
	t.Parallel()
	got := idemlint(t, module(t, handlersShop), "handlers", ".")
	wantStatus(t, got, 0)
	wantContains(t, "standard output", got.stdout, "guarded  HandleOrder", "shop.go:3:6", "1 handler: 1 guarded")
}

func TestAnInventoryThatLacksAPackageSaysSo(t *testing.T) {
	t.Parallel()
	got := idemlint(t, module(t, handlersShop), "handlers", "-json", "./...")
	wantStatus(t, got, 2)
	wantContains(t, "standard output", got.stdout, `"name": "HandleOrder"`, `"name": "HandleOther"`, `"package example.com/shop/broken does not build`)
	wantContains(t, "standard error", got.stderr, "package example.com/shop/broken does not build")
}

func TestAnInventoryIsWrittenToTheFileThatIsNamed(t *testing.T) {
	t.Parallel()
	dir := module(t, handlersShop)
	got := idemlint(t, dir, "handlers", "-format", "html", "-o", "handlers.html", ".")
	wantStatus(t, got, 0)
	page, err := os.ReadFile(filepath.Join(dir, "handlers.html"))
	if err != nil {
		t.Fatal(err)
	}
	wantContains(t, "the page", string(page), "<!DOCTYPE html>", "HandleOrder")
	if got.stdout != "" {
		t.Errorf("standard output:\n%s", got.stdout)
	}
}

func TestHelpTellsAboutASubcommand(t *testing.T) {
	t.Parallel()
	got := idemlint(t, t.TempDir(), "help", "init")
	wantStatus(t, got, 0)
	wantContains(t, "standard output", got.stdout, "idemlint init [-y]\n\nwrite .idemlint.yml")
}

func TestBashCompletesWhatIsBegun(t *testing.T) {
	t.Parallel()
	script := idemlint(t, t.TempDir(), "completion", "bash")
	wantStatus(t, script, 0)
	for _, tt := range []struct{ line, want string }{
		{"idemlint -stri", "-strict"},
		{"idemlint expl", "explain"},
		{"idemlint explain bad", "badcheck"},
		{"idemlint -rules worse", "worsecheck"},
		{"idemlint completion f", "fish"},
		{"idemlint -badcheck.li", "-badcheck.limit"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(tt.line)
			ask := script.stdout + "COMP_WORDS=(" + tt.line + "); COMP_CWORD=" + string(rune('0'+len(words)-1)) + "; _idemlint; echo \"${COMPREPLY[*]}\"\n"
			got := run(t, t.TempDir(), environ(), "bash", "--norc", "-c", ask)
			if strings.TrimSpace(got.stdout) != tt.want {
				t.Errorf("completed to %q, want %q\n%s", got.stdout, tt.want, got.stderr)
			}
		})
	}
}

func TestEveryShellIsToldEveryFlagAndCommand(t *testing.T) {
	t.Parallel()
	for shell, form := range map[string]struct{ flag, command string }{
		"bash": {"-%s", "%s"},
		"zsh":  {"'-%s[", "'%s:"},
		"fish": {"complete -c idemlint -o %s ", "-a %s -d "},
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			got := idemlint(t, t.TempDir(), "completion", shell)
			wantStatus(t, got, 0)
			for _, flag := range []string{"C", "config", "rules", "json", "tags", "strict", "tests", "badcheck.limit"} {
				wantContains(t, "the script", got.stdout, strings.ReplaceAll(form.flag, "%s", flag))
			}
			for _, command := range []string{"help", "explain", "handlers", "init", "sql", "completion", "version"} {
				wantContains(t, "the script", got.stdout, strings.ReplaceAll(form.command, "%s", command))
			}
		})
	}
}
