package lint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// ErrNoGo is returned when there is no go command.
var ErrNoGo = errors.New("no go command in PATH; idemlint loads packages with it: " +
	"install Go from https://go.dev/dl, or add its bin directory to PATH")

// interruptGrace is how long the go command gets to stop its tools after an interrupt, before it is killed.
const interruptGrace = 5 * time.Second

// vetOutput is what one run of go vet said.
type vetOutput struct {
	units  []finding.Unit
	blocks []block // of standard error
	failed bool    // go vet's exit status was not 0
}

// vet runs go vet over the patterns, with this binary as its tool.
func (l Linter) vet(ctx context.Context, patterns []string) (vetOutput, error) {
	args := []string{"vet", "-vettool=" + l.Tool, "-json", "-" + rules.Analyzer + "." + rules.Index}
	args = append(args, l.BuildFlags...)
	args = append(args, l.AnalyzerFlags...)
	args = append(append(args, "--"), patterns...)

	var stdout bytes.Buffer
	stderr := &progress{live: l.Progress}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = l.Dir
	cmd.Stdout, cmd.Stderr = &unitCounter{to: &stdout, each: l.Analysed}, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = interruptGrace
	err := cmd.Run()

	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return vetOutput{}, fmt.Errorf("running go vet: %w", context.Cause(ctx))
	case errors.Is(err, exec.ErrNotFound):
		return vetOutput{}, ErrNoGo
	case err != nil && !errors.As(err, &exit):
		return vetOutput{}, fmt.Errorf("running go vet: %w", err)
	}
	units, jsonErr := finding.ReadUnits(&stdout)
	if jsonErr != nil {
		return vetOutput{}, fmt.Errorf("reading the output of go vet: %w", jsonErr)
	}
	if err == nil && l.Progress != nil {
		if _, err := io.WriteString(l.Progress, stderr.rest()); err != nil {
			return vetOutput{}, fmt.Errorf("passing on the output of go vet: %w", err)
		}
	}
	return vetOutput{units: units, blocks: l.parseBlocks(stderr.rest()), failed: err != nil}, nil
}

// A unitCounter passes on analysis JSON, and tells of each package's object that ends: go vet prints its braces on lines
// of their own, or both on one.
type unitCounter struct {
	to   io.Writer
	each func()
	line []byte
}

func (u *unitCounter) Write(data []byte) (int, error) {
	if u.each != nil {
		for _, b := range data {
			if b != '\n' {
				if len(u.line) < len("{}x") {
					u.line = append(u.line, b)
				}
				continue
			}
			if s := string(u.line); s == "}" || s == "{}" {
				u.each()
			}
			u.line = u.line[:0]
		}
	}
	return u.to.Write(data)
}

// asked are the import paths of the packages that the patterns name, nil when they cannot be told: then go vet has
// something to say about them.
func (l Linter) asked(ctx context.Context, patterns []string) map[string]bool {
	args := append([]string{"list", "-e", "-find", "-f", "{{.ImportPath}}"}, l.BuildFlags...)
	cmd := exec.CommandContext(ctx, "go", append(append(args, "--"), patterns...)...)
	cmd.Dir = l.Dir
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	named := make(map[string]bool)
	for path := range strings.FieldsSeq(string(out)) {
		named[path] = true
	}
	return named
}

// progress passes on what the go command says about its downloads at once, so that a first run is seen to move,
// and holds the rest until it is known whether it is about a failure.
type progress struct {
	live io.Writer
	line []byte
	held bytes.Buffer
}

func (p *progress) Write(data []byte) (int, error) {
	p.line = append(p.line, data...)
	for {
		i := bytes.IndexByte(p.line, '\n')
		if i < 0 {
			return len(data), nil
		}
		line := p.line[:i+1]
		if bytes.HasPrefix(line, []byte("go: downloading ")) && p.live != nil {
			if _, err := p.live.Write(line); err != nil {
				return 0, err
			}
		} else {
			p.held.Write(line)
		}
		p.line = p.line[i+1:]
	}
}

// rest is what was not passed on.
func (p *progress) rest() string { return p.held.String() + string(p.line) }

// A block is what the go command said about one package: a line "# package", and the lines below it. What comes
// before the first such line has no package.
type block struct {
	pkg   string
	lines []string
	crash string // the line that says so, if the tool crashed
}

// parseBlocks reads the go command's standard error.
func (l Linter) parseBlocks(text string) []block {
	var blocks []block
	current := block{}
	end := func() {
		if len(current.lines) > 0 {
			blocks = append(blocks, current)
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if pkg, ok := strings.CutPrefix(line, "# "); ok {
			end()
			current = block{pkg: pkg}
			continue
		}
		line = l.stripTool(line)
		if line == "" || current.crash != "" {
			continue
		}
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			// What follows is the trace, which is for nobody but its author.
			current.crash = line
		}
		current.lines = append(current.lines, line)
	}
	end()
	return blocks
}

// stripTool takes the tool's name off an error of its own: unitchecker uses the binary's, the rest of the tool
// its own.
func (l Linter) stripTool(line string) string {
	for _, name := range []string{filepath.Base(l.Tool), rules.Analyzer} {
		if rest, ok := strings.CutPrefix(line, name+": "); ok {
			return rest
		}
	}
	return line
}
