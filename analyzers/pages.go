package analyzers

import "github.com/idemlint/idemlint/analyzers/internal/rule"

// A Page is what there is to say about one analyzer, for those that show it in a form of their own.
type Page struct {
	Analyzer string
	Rule     string // id in full, or "idemlint"
	Title    string // what is wrong, in a few words
	Severity string // "error", "warning" or "note"
	URL      string
	Reports  string // what is reported, in a sentence or two
	Text     string // the whole page for a terminal
	Markdown string // the whole page
}

// Pages returns the pages of all analyzers, in the order in which they run.
func Pages() ([]Page, error) {
	all, err := rule.Pages()
	if err != nil {
		return nil, err
	}
	pages := make([]Page, 0, len(all))
	for _, p := range all {
		pages = append(pages, Page{
			Analyzer: p.Analyzer, Rule: p.ID(), Title: p.Title, Severity: rule.Severity(p.Analyzer), URL: rule.URL(p.Analyzer),
			Reports: p.Reports[0], Text: p.Text(), Markdown: p.Markdown(),
		})
	}
	return pages, nil
}
