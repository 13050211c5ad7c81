package rule

import (
	"strings"
)

// A Directive is a comment that suppresses findings: //idemlint:ignore RULE reason, or //nolint:idemlint // reason.
type Directive struct {
	File   string
	Line   int
	Col    int
	Rule   string // the full id it names, "" for all
	Name   string // the analyzer it names, "" for the whole rule
	Word   string // as written
	Reason string
	NoLint bool
	Used   bool
}

const ignorePrefix = "idemlint:ignore"

// ParseDirective reads the text of a comment, its marker included. ok is false for any other comment.
func ParseDirective(comment string) (d Directive, ok bool) {
	text := strings.TrimPrefix(strings.TrimPrefix(comment, "//"), "--")
	if strings.HasPrefix(text, " "+ignorePrefix) && strings.HasPrefix(comment, "--") {
		text = text[1:]
	}
	if rest, found := strings.CutPrefix(text, ignorePrefix); found {
		if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
			return d, false
		}
		word, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
		d.Word, d.Reason = word, strings.TrimSpace(reason)
		d.Rule, d.Name, _ = Named(word)
		return d, true
	}
	if rest, found := strings.CutPrefix(text, "nolint:"); found {
		names, reason, _ := strings.Cut(rest, "//")
		for _, n := range strings.Split(names, ",") {
			if strings.TrimSpace(n) == "idemlint" {
				d.NoLint, d.Word, d.Reason = true, "idemlint", strings.TrimSpace(reason)
				return d, true
			}
		}
	}
	return d, false
}

// Covers reports whether the directive suppresses a finding of the rule, by the analyzer, at the line.
func (d *Directive) Covers(rule, analyzer, file string, line int) bool {
	if d.File != file || line != d.Line && line != d.Line+1 {
		return false
	}
	if d.NoLint {
		return true
	}
	if d.Rule == "" {
		return false
	}
	return d.Rule == rule && (d.Name == "" || d.Name == analyzer)
}

// Fault says what is wrong with a directive, "" when nothing is. A directive without a fault that covers nothing is
// reported by its user.
func (d *Directive) Fault() string {
	switch {
	case d.NoLint && d.Reason == "":
		return "nolint:idemlint without a reason: write why the finding is no problem, //nolint:idemlint // reason"
	case d.NoLint:
		return ""
	case d.Word == "":
		return "idemlint:ignore without a rule: write //idemlint:ignore R-KFK-IDEM-X1 reason"
	case d.Rule == "":
		return "idemlint:ignore names no rule: " + d.Word + " is neither a rule id nor an analyzer"
	case d.Reason == "":
		return "idemlint:ignore " + d.Word + " without a reason: write why the finding is no problem"
	}
	return ""
}
