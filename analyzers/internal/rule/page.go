package rule

import (
	"fmt"
	"path"
	"strings"
)

// A Page says everything about what one analyzer reports. Text is plain, with `code` in backquotes.
type Page struct {
	Analyzer string
	Title    string
	Reports  []string // paragraphs
	Kinds    []string // what is told apart, each with its own message; may be empty
	Why      []string // paragraphs: the incident it prevents
	Examples []Example
	More     []Section
	Silent   []string // cases in which nothing is reported
	Flags    []Flag
	Settings []string // paragraphs: what else, beside flags, the rule goes by
	Suppress []string // paragraphs
}

// A Section is a part of a page that only this page has.
type Section struct {
	Title string
	Text  []string // paragraphs
}

// A Flag is a flag of the rule.
type Flag struct {
	Name    string // as the stand-alone command and go vet both take it, without the dash
	Meaning string
}

// ID is the id of the page's rule: several analyzers may share one.
func (p *Page) ID() string {
	if id := Of(p.Analyzer); id != "" {
		return id
	}
	return Directives
}

// Pages returns the pages of the analyzers, in the order in which they run.
func Pages() ([]*Page, error) {
	pages := []*Page{dedupcheckPage(), offsetkeyPage(), moneykeyPage(), uuidv7Page(), payloadidPage(), dedupsqlPage(), deduptxPage(),
		ackorderPage(), directivesPage()}
	for _, p := range pages {
		var err error
		if p.Examples, err = examples(p.Analyzer); err != nil {
			return nil, err
		}
		if p.Suppress == nil {
			p.Suppress = suppress(p)
		}
	}
	return pages, nil
}

// Explain returns the pages that a word stands for: a rule id, its tail, or an analyzer's name. There are none for any
// other word.
func Explain(word string) ([]*Page, error) {
	pages, err := Pages()
	if err != nil {
		return nil, err
	}
	id, analyzer, ok := Named(word)
	if !ok && strings.EqualFold(word, Directives) {
		id, ok = Directives, true
	}
	if !ok {
		return nil, nil
	}
	var on []*Page
	for _, p := range pages {
		if p.ID() == id && (analyzer == "" || p.Analyzer == analyzer) {
			on = append(on, p)
		}
	}
	return on, nil
}

// suppress says how a finding of the rule is switched off.
func suppress(p *Page) []string {
	return []string{
		fmt.Sprintf("On the line of the finding, or on the line above it: `//idemlint:ignore %s reason`, or `//idemlint:ignore %s reason` "+
			"for this analyzer alone. In a `.sql` file: `-- idemlint:ignore %[1]s reason`. `//nolint:idemlint // reason` does so for all "+
			"rules.", p.ID(), p.Analyzer),
		"The reason is not optional: a directive without one is reported, and so is one that suppresses nothing.",
	}
}

// sections are the parts of the page with a heading, in order. The examples are among them.
func (p *Page) sections() []section {
	out := []section{
		{title: "What is reported", text: p.Reports, list: p.Kinds},
		{title: "Why", text: p.Why},
	}
	for i, e := range p.Examples {
		title := ""
		if i == 0 || e.Good != p.Examples[i-1].Good {
			title = "An example"
			if e.Good {
				title = "The same done right"
			}
		}
		s := section{title: title, lang: strings.TrimPrefix(path.Ext(e.Name), "."), code: e.Text}
		if !e.Good {
			s.printed = e.Printed
		}
		out = append(out, s)
	}
	for _, m := range p.More {
		out = append(out, section{title: m.Title, text: m.Text})
	}
	out = append(out, section{title: "When it stays silent", list: p.Silent})
	configure := section{title: "Configuration", text: p.Settings}
	for _, f := range p.Flags {
		configure.list = append(configure.list, fmt.Sprintf("`-%s`: %s", f.Name, f.Meaning))
	}
	return append(out, configure, section{title: "Suppressing a finding", text: p.Suppress})
}

// A section is what both forms of a page are made of, each part of which may be empty. They stand in this order.
type section struct {
	title   string
	text    []string
	list    []string
	lang    string
	code    string
	printed string
}

// heading is the title of the page.
func (p *Page) heading() string {
	if p.ID() == p.Analyzer {
		return p.ID() + ": " + p.Title
	}
	return p.ID() + " (" + p.Analyzer + "): " + p.Title
}
