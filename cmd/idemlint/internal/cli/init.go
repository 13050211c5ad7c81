package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/config"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/setup"
)

// init shows the files by which the module is set up, asks, and writes them. Nothing that is there is written over.
func (c Command) init(args []string) error {
	fs := flag.NewFlagSet(rules.Analyzer+" init", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	yes := fs.Bool("y", false, "write without asking")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
		return fmt.Errorf("init takes no arguments but -y, and works on the module of the current directory: %s init", rules.Analyzer)
	}
	root, ok := config.Root(c.Dir, os.Getenv("GOWORK"))
	if !ok {
		return fmt.Errorf("no go.mod here or above; go to the module, or make one: go mod init example.com/name")
	}
	plan, err := setup.New(root, c.Rules.Options())
	if err != nil {
		return err
	}
	if err := c.show(plan, root); err != nil || len(plan.Files) == 0 {
		return err
	}
	if !*yes {
		if ok, err := c.ask("Write this? [y/N] "); err != nil || !ok {
			return err
		}
	}
	if err := plan.Write(root); err != nil {
		return err
	}
	for _, f := range plan.Files {
		if _, err := fmt.Fprintf(c.Stdout, "wrote %s\n", c.relative(filepath.Join(root, f.Name))); err != nil {
			return err
		}
	}
	return nil
}

// show prints a plan: each line that would be added behind a +, with the line before which it would stand.
func (c Command) show(plan *setup.Plan, root string) error {
	var b strings.Builder
	for _, f := range plan.Files {
		name := c.relative(filepath.Join(root, f.Name))
		for _, block := range f.Added {
			switch {
			case f.New:
				fmt.Fprintf(&b, "%s, a new file:\n", name)
			default:
				fmt.Fprintf(&b, "%s:%d:\n", name, block.Line)
			}
			for line := range strings.Lines(block.Text) {
				b.WriteString("  + " + line)
			}
			b.WriteString("\n")
		}
	}
	for _, note := range plan.Notes {
		b.WriteString(strings.TrimRight(note, "\n") + "\n")
	}
	if len(plan.Files) == 0 {
		b.WriteString("nothing to write\n")
	}
	_, err := io.WriteString(c.Stdout, b.String())
	return err
}

// ask puts a question and reads the answer. No answer is no, and is said so.
func (c Command) ask(question string) (bool, error) {
	if _, err := io.WriteString(c.Stdout, question); err != nil {
		return false, err
	}
	answer := ""
	if c.Stdin != nil {
		line, err := bufio.NewReader(c.Stdin).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("reading the answer: %w", err)
		}
		answer = strings.ToLower(strings.TrimSpace(line))
	}
	if answer == "y" || answer == "yes" {
		return true, nil
	}
	_, err := fmt.Fprintf(c.Stdout, "\nnothing written; %s init -y writes without asking\n", rules.Analyzer)
	return false, err
}
