// Package rule holds the identity of the rules: their ids, titles and pages, what a finding is, and how one is
// suppressed. It looks at no code but comments.
package rule

import "strings"

// The rules of the R-KFK-IDEM catalogue.
const (
	X1 = "R-KFK-IDEM-X1"
	X2 = "R-KFK-IDEM-X2"
	R1 = "R-KFK-IDEM-1"
	R2 = "R-KFK-IDEM-2"
	R3 = "R-KFK-IDEM-3"
	R4 = "R-KFK-IDEM-4"
	// Directives is the category of findings about idemlint's own comments.
	Directives = "idemlint"
)

// page is where the pages of the rules are.
const page = "https://github.com/idemlint/idemlint/blob/main/analyzers/"

var analyzers = []struct{ name, rule, severity string }{
	{"dedupcheck", X1, Error}, {"offsetkey", X2, Error}, {"moneykey", R4, Error}, {"uuidv7", R1, Warning}, {"payloadid", R1, Warning},
	{"dedupsql", R2, Error}, {"deduptx", R3, Error}, {"ackorder", R3, Error},
}

// How bad a finding is, by the words of SARIF's levels: with an Error work is done twice, or lost; what a Warning is
// about costs, or goes wrong when something else does, too; a Note is about comments.
const (
	Error   = "error"
	Warning = "warning"
	Note    = "note"
)

// Severity returns how bad what an analyzer reports is.
func Severity(analyzer string) string {
	for _, a := range analyzers {
		if a.name == analyzer {
			return a.severity
		}
	}
	return Note
}

// Of returns the id of the rule that an analyzer checks, "" for an unknown analyzer.
func Of(analyzer string) string {
	for _, a := range analyzers {
		if a.name == analyzer {
			return a.rule
		}
	}
	return ""
}

// Named returns the full id that a word stands for: an id, its tail ("X1", "4"), or an analyzer's name. ok is false
// when it stands for none.
func Named(word string) (id string, analyzer string, ok bool) {
	for _, a := range analyzers {
		if strings.EqualFold(word, a.name) {
			return a.rule, a.name, true
		}
	}
	up := strings.ToUpper(word)
	for _, id := range []string{X1, X2, R1, R2, R3, R4} {
		tail := strings.TrimPrefix(id, "R-KFK-IDEM-")
		if up == id || up == tail || up == "IDEM-"+tail || up == "R"+tail {
			return id, "", true
		}
	}
	return "", "", false
}

// URL returns the page of an analyzer.
func URL(analyzer string) string { return page + analyzer + "/RULE.md" }

// A Related is another place a finding speaks of.
type Related struct {
	Posn    string // file:line:column
	Message string
}

// An Edit replaces the bytes between two positions of a file.
type Edit struct {
	Posn, End string // file:line:column
	New       string
}

// A Fix is a change that removes a finding.
type Fix struct {
	Message string
	Edits   []Edit
}

// A Finding is one violation of a rule at one place.
type Finding struct {
	Rule     string // full id, or [Directives]
	Analyzer string
	Posn     string // file:line:column
	Home     string // where the whole module would show it, when this package shows it at a binding; "" otherwise
	End      string // the same form, "" when unknown
	Message  string
	Related  []Related
	Fixes    []Fix
}
