// Package rules is the seam between the command and the analyzers: what the command asks of them, in one value,
// so that it can be driven with others in a test. It knows no rule itself.
package rules

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/idemlint/idemlint/analyzers/inventory"
	"github.com/idemlint/idemlint/analyzers/names"
	"github.com/idemlint/idemlint/cmd/idemlint/internal/finding"
)

const (
	// Analyzer is the name of the analyzer that reports faulty directives and, with its flag [Index], a
	// package's summary.
	Analyzer = "idemlint"

	// Index is the flag of [Analyzer], and the category of the diagnostic whose message is the summary.
	Index = "index"

	// Config is the flag of [Analyzer] that tells go vet's tool to look for no configuration.
	Config = "config"

	// Base is the flag of [Analyzer] by which the stand-alone command names to go vet's tool the configuration of dependencies
	// that are in no module of the workspace.
	Base = "base"

	// Prefix is what the short form of a rule id leaves out: "X1" is "R-KFK-IDEM-X1".
	Prefix = "R-KFK-IDEM-"
)

// A Rule is a rule id and the analyzer that reports it.
type Rule struct {
	ID       string
	Analyzer string
}

// named tells whether a word stands for the rule: its id, or the end of it ("X1", "4", or "R4"). Case does not matter.
func (r Rule) named(word string) bool {
	tail := strings.TrimPrefix(r.ID, Prefix)
	return strings.EqualFold(word, r.ID) || strings.EqualFold(word, tail) || strings.EqualFold(word, "R"+tail)
}

// A Module is what the modules of the analysed packages hold beside them. Names are absolute paths, sorted.
type Module struct {
	SQL  []string // .sql files
	Rest []string // Go files in directories of which no package was analysed

	Read func(name string) ([]byte, error)
}

// A Page is what a report says about an analyzer.
type Page struct {
	Analyzer string
	Rule     string // id in full
	Title    string // what is wrong, in a few words
	Severity string // "error", "warning" or "note", the words of SARIF's levels
	URL      string
	Reports  string // what is reported, in a sentence or two
	Text     string // the whole page, plain
	Markdown string // the whole page
}

// A Set is the analyzers with what belongs to them.
type Set struct {
	// Analyzers are the analyzers to run, in the order of the documentation.
	Analyzers []*analysis.Analyzer

	// Rules are the rule ids that the analyzers report under.
	Rules []Rule

	// Settle joins the summaries of all packages and returns the findings that only the whole can see. Their
	// Package is empty.
	Settle func(payloads []string, m Module) ([]finding.Finding, error)

	// SQL returns the findings in .sql files that no code is known of.
	SQL func(m Module) ([]finding.Finding, error)

	// Handlers joins the summaries of all packages and lists the handlers in them, in their order.
	Handlers func(payloads []string) ([]inventory.Handler, error)

	// URL is the page of an analyzer.
	URL func(analyzer string) string

	// Explain returns the page of an analyzer as text for a terminal. ok is false when there is none.
	Explain func(analyzer string) (text string, ok bool, err error)

	// Pages are what reports say about the analyzers, in their order. Nil is nothing.
	Pages func() ([]Page, error)

	// Seed tells whether a package of that import path can matter by itself: a Kafka client, an SQL driver.
	Seed func(importPath string) bool

	// Named reads a value of an option; ok is false for options whose values name nothing. Nil is an option without such.
	Named func(option, value string) (n names.Name, ok bool)

	// Canonical is an import path without what does not count when names are compared.
	Canonical func(path string) string

	// Mentioned tells which of the tables and words the summaries mention.
	Mentioned func(payloads []string, wanted []names.Name) (map[names.Name]bool, error)

	// Own is told that the options of this process, which analyses a package of the module at root, are those that hold in
	// that module. Nil is told nothing.
	Own func(root string)
}

// Options are the options that a project may set: the flags of [Analyzer], which belong to all analyzers.
func (s Set) Options() []*flag.Flag {
	var options []*flag.Flag
	for _, a := range s.Analyzers {
		if a.Name == Analyzer {
			a.Flags.VisitAll(func(f *flag.Flag) {
				if f.Name != Index && f.Name != Config && f.Name != Base {
					options = append(options, f)
				}
			})
		}
	}
	return options
}

// On returns the analyzers that a word stands for: a rule id, its short form, or an analyzer's name. Of a word that
// is none of these the error names the nearest that is.
func (s Set) On(word string) ([]*analysis.Analyzer, error) {
	var on []*analysis.Analyzer
	for _, a := range s.Analyzers {
		named := strings.EqualFold(word, a.Name)
		for _, r := range s.Rules {
			named = named || r.Analyzer == a.Name && r.named(word)
		}
		if named {
			on = append(on, a)
		}
	}
	if len(on) == 0 {
		return nil, s.unknown(word)
	}
	return on, nil
}

// IDs are the rule ids that an analyzer reports under.
func (s Set) IDs(analyzer string) []string {
	var ids []string
	for _, r := range s.Rules {
		if r.Analyzer == analyzer {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// Select returns which rules and analyzers a list of rule ids, short ids and analyzer names stands for; case does
// not matter. The predicate it returns takes a finding. Of a word that is none of these the error names the
// nearest that is.
func (s Set) Select(words []string) (func(finding.Finding) bool, error) {
	ids, analyzers := make(map[string]bool), make(map[string]bool)
	for _, word := range words {
		known := false
		for _, r := range s.Rules {
			if r.named(word) {
				ids[r.ID], known = true, true
			}
		}
		for _, a := range s.Analyzers {
			if strings.EqualFold(word, a.Name) {
				analyzers[a.Name], known = true, true
			}
		}
		if !known {
			return nil, s.unknown(word)
		}
	}
	return func(f finding.Finding) bool { return ids[f.Rule] || analyzers[f.Analyzer] }, nil
}

// unknown is the error for a word that names no rule.
func (s Set) unknown(word string) error {
	names := s.Names()
	short := make([]string, 0, len(s.Rules))
	for _, r := range s.Rules {
		short = append(short, strings.TrimPrefix(r.ID, Prefix))
	}
	if near, ok := Nearest(word, append(slices.Clone(names), short...)); ok {
		return fmt.Errorf("unknown rule %q; did you mean %q?", word, near)
	}
	return fmt.Errorf("unknown rule %q; the rules are %s", word, strings.Join(names, ", "))
}

// Names are the rule ids, each once, and the analyzers' names.
func (s Set) Names() []string {
	var names []string
	for _, r := range s.Rules {
		if !slices.Contains(names, r.ID) {
			names = append(names, r.ID)
		}
	}
	for _, a := range s.Analyzers {
		names = append(names, a.Name)
	}
	return names
}
