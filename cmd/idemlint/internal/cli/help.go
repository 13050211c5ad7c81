package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/cmd/idemlint/internal/rules"
)

// A subcommand is a word that may stand first on the command line.
type subcommand struct {
	name    string
	args    string
	summary string
	run     func(c Command, ctx context.Context, args []string) (int, error)
}

// plain is a sub-command whose only exit statuses are of success and error.
func plain(run func(c Command, args []string) error) func(Command, context.Context, []string) (int, error) {
	return func(c Command, _ context.Context, args []string) (int, error) { return ExitClean, run(c, args) }
}

func subcommands() []subcommand {
	return []subcommand{
		{"help", "[rule|analyzer]", "this text, or what a rule is about", plain(Command.help)},
		{"explain", "[rule|analyzer]", "the page of a rule, with examples; without one, the list of rules", plain(Command.explain)},
		{"handlers", "[flags] [packages]", "the inventory of all handlers: what each reads, asks, does and acknowledges", Command.handlers},
		{"init", "[-y]", "write .idemlint.yml, and the lines for golangci-lint where it is used; shows them and asks first", plain(Command.init)},
		{"sql", "[flags] file.sql...", "look at the dedup table's SQL in these files alone", Command.sql},
		{"completion", "bash|zsh|fish", "print the script that completes calls in a shell", plain(Command.completion)},
		{"version", "", "the version of idemlint and of what it was built with", plain(Command.version)},
	}
}

const intro = `idemlint finds Kafka consumers that would do their work twice.

Usage:

	idemlint [flags] [packages]

Packages are named as for the go command; without any, ./... is meant. As a tool of go vet:

	go vet -vettool=$(which idemlint) ./...

Exit status: 0 nothing found, 1 findings, 2 a wrong call or packages that could not be analysed. With -json it is
0 whatever was found.
`

// help prints the overview, or what a rule or an analyzer is about.
func (c Command) help(args []string) error {
	if len(args) > 0 {
		for _, word := range args {
			if err := c.helpOn(word); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Fprint(c.Stdout, intro)
	fmt.Fprintln(c.Stdout, "\nSub-commands:")
	table := tabwriter.NewWriter(c.Stdout, 0, 0, 3, ' ', 0)
	for _, sub := range subcommands() {
		fmt.Fprintf(table, "\t%s %s\t%s\n", sub.name, sub.args, sub.summary)
	}
	fmt.Fprintln(table, "\nRules:")
	c.list(table)
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the help: %w", err)
	}
	fmt.Fprintln(c.Stdout, "\nFlags:")
	printFlags(c.Stdout, c.flags(new(call)), func(name string) bool { return !strings.Contains(name, ".") })
	fmt.Fprintf(c.Stdout, "\n%s help ANALYZER says more about a rule and lists its flags.\n", rules.Analyzer)
	return nil
}

// list writes the rows of a table of the rules.
func (c Command) list(table io.Writer) {
	for _, a := range c.Rules.Analyzers {
		fmt.Fprintf(table, "\t%s\t%s\t%s\n", a.Name, strings.Join(c.Rules.IDs(a.Name), ", "), summary(a))
	}
}

// explain prints the pages of the rules that the words stand for, or the list of rules.
func (c Command) explain(args []string) error {
	if len(args) == 0 {
		table := tabwriter.NewWriter(c.Stdout, 0, 0, 3, ' ', 0)
		c.list(table)
		if err := table.Flush(); err != nil {
			return fmt.Errorf("writing the list of rules: %w", err)
		}
		_, err := fmt.Fprintf(c.Stdout, "\n%s explain RULE shows the page of one: by rule id (X1 is enough) or by analyzer.\n", rules.Analyzer)
		return err
	}
	var texts []string
	for _, word := range args {
		on, err := c.Rules.On(word)
		if err != nil {
			return err
		}
		for _, a := range on {
			text, ok, err := c.Rules.Explain(a.Name)
			if err != nil {
				return fmt.Errorf("explaining %s: %w", a.Name, err)
			}
			if !ok {
				return fmt.Errorf("%s has no page", a.Name)
			}
			texts = append(texts, text)
		}
	}
	_, err := io.WriteString(c.Stdout, strings.Join(texts, "\n"))
	return err
}

// helpOn prints the documentation and the flags of the analyzers that a word stands for.
func (c Command) helpOn(word string) error {
	for _, sub := range subcommands() {
		if sub.name == word {
			_, err := fmt.Fprintf(c.Stdout, "%s %s %s\n\n%s\n", rules.Analyzer, sub.name, sub.args, sub.summary)
			return err
		}
	}
	on, err := c.Rules.On(word)
	if err != nil {
		return err
	}
	fs := c.flags(new(call))
	for _, a := range on {
		fmt.Fprintf(c.Stdout, "%s\n\n%s\n\n", strings.TrimSpace(a.Doc), c.Rules.URL(a.Name))
		printFlags(c.Stdout, fs, func(name string) bool { return strings.HasPrefix(name, a.Name+".") })
	}
	return nil
}

// summary is the first line of an analyzer's documentation, without its name.
func summary(a *analysis.Analyzer) string {
	line, _, _ := strings.Cut(a.Doc, "\n")
	return strings.TrimPrefix(line, a.Name+": ")
}

// printFlags lists the flags whose name is wanted.
func printFlags(w io.Writer, fs *flag.FlagSet, wanted func(name string) bool) {
	fs.VisitAll(func(f *flag.Flag) {
		if !wanted(f.Name) {
			return
		}
		value, usage := flag.UnquoteUsage(f)
		if value != "" {
			value = " " + value
		}
		fmt.Fprintf(w, "  -%s%s\n    \t%s\n", f.Name, value, strings.ReplaceAll(usage, "\n", "\n    \t"))
	})
}

// version prints what this binary was built from.
func (c Command) version(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("version takes no arguments: %s version", rules.Analyzer)
	}
	tools, goVersion := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
		for _, m := range info.Deps {
			if m.Path == "golang.org/x/tools" {
				tools = m.Version
			}
		}
	}
	_, err := fmt.Fprintf(c.Stdout, "%s %s, built with %s and golang.org/x/tools %s\n", rules.Analyzer, version(), goVersion, tools)
	return err
}

// version is the version of this binary's module.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
