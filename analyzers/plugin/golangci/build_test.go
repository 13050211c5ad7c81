package golangci

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// root is the project's directory.
var root, _ = filepath.Abs("../../..")

// linter is the golangci-lint under test, and custom what was said while it was built.
var (
	linter string
	custom string
)

func TestMain(m *testing.M) { os.Exit(withLinter(m)) }

func withLinter(m *testing.M) int {
	dir, err := os.MkdirTemp("", "golangci")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// build runs golangci-lint custom with the README's .custom-gcl.yml, changed in one thing: the plugin is taken from this
// checkout, and not by its version. What the command clones comes from the module cache.
func build(dir string) error {
	plain := filepath.Join(dir, "golangci-lint")
	if _, err := command(".", nil, "go", "build", "-o", plain, "github.com/golangci/golangci-lint/v2/cmd/golangci-lint"); err != nil {
		return err
	}
	conf, version, err := customConfig()
	if err != nil {
		return err
	}
	repo, err := repository(filepath.Join(dir, "repository"), version)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, ".custom-gcl.yml"), conf, 0o644); err != nil {
		return err
	}
	env := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + repo + ".insteadOf",
		"GIT_CONFIG_VALUE_0=https://github.com/golangci/golangci-lint.git", "GOFLAGS="}
	if custom, err = command(dir, env, plain, "custom", "-v"); err != nil {
		return err
	}
	linter = filepath.Join(dir, "custom-gcl")
	return nil
}

// customConfig is the README's .custom-gcl.yml for this checkout, and the version of golangci-lint that it names.
func customConfig() (conf []byte, version string, err error) {
	block, err := readmeBlock("# .custom-gcl.yml\n")
	if err != nil {
		return nil, "", err
	}
	var c struct {
		Version string
		Plugins []map[string]string
	}
	if err := yaml.Unmarshal([]byte(block), &c); err != nil {
		return nil, "", fmt.Errorf("the README's .custom-gcl.yml: %w", err)
	}
	for _, p := range c.Plugins {
		delete(p, "version")
		p["path"] = root
	}
	conf, err = yaml.Marshal(c)
	return conf, c.Version, err
}

// readmeBlock is the block of the README that begins with the line first.
func readmeBlock(first string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(string(data), "```yaml\n"+first)
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		return "", fmt.Errorf("the README has no block that begins with %q", first)
	}
	return block, nil
}

// repository makes a repository of golangci-lint's module, with the tag that is cloned.
func repository(dir, version string) (string, error) {
	src, err := command(".", nil, "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "github.com/golangci/golangci-lint/v2")
	if err != nil {
		return "", err
	}
	have, src, _ := strings.Cut(strings.TrimSpace(src), " ")
	if have != version {
		return "", fmt.Errorf("the README's .custom-gcl.yml names golangci-lint %s, this module requires %s", version, have)
	}
	if err := os.CopyFS(dir, os.DirFS(src)); err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A", "-f"},
		{"-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "-q", "-m", version},
		{"tag", version},
	} {
		if _, err := command(dir, nil, "git", args...); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// command runs a command and returns its standard output and standard error, each in its order.
func command(dir string, env []string, name string, args ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out.String())
	}
	return out.String(), nil
}

func TestCustomImportsThePlugin(t *testing.T) {
	if want := regexp.MustCompile(`_ \\?"github\.com/idemlint/idemlint/analyzers/plugin\\?"`); !want.MatchString(custom) {
		t.Errorf("golangci-lint custom does not say that it imports the plugin:\n%s", custom)
	}
}
