package rule

func directivesPage() *Page {
	return &Page{
		Analyzer: Directives,
		Title:    "a directive is faulty, or suppresses nothing",
		Reports: []string{
			"Comments by which findings are suppressed: `//idemlint:ignore RULE reason` in Go, `-- idemlint:ignore RULE reason` in SQL, and " +
				"`//nolint:idemlint // reason`. RULE is an id (`R-KFK-IDEM-X1`), its tail (`X1`), or an analyzer's name (`dedupcheck`). A " +
				"directive covers its own line and the next.",
		},
		Kinds: []string{
			"there is no reason",
			"there is no rule, or a word that is none",
			"nothing is found where it stands",
		},
		Why: []string{
			"A suppressed finding is a decision: here a repeat does no harm. Without its reason nobody can tell, a year later, whether that " +
				"still holds. And a directive that has outlived its finding, or names a rule with a slip of the pen, lies in wait: it either " +
				"hides the next mistake on that line, or it never hid anything.",
		},
		Silent: []string{
			"Comments of other linters, and `//nolint` without a name.",
			"`//idemlint:guard`, which declares a check and suppresses nothing.",
			"Package by package (`go vet`, golangci-lint): a directive that matches nothing in its package, where another package may " +
				"show what it is for. One at a handler also covers the finding that stands where `main` binds what the handler calls.",
		},
		Settings: []string{
			"These flags hold for every rule. The stand-alone command also takes them as `-tests` and `-debug`.",
		},
		Flags: []Flag{
			{"idemlint.tests", "report findings in `_test.go` files, too."},
			{"idemlint.debug", "say on standard error what was assumed, and what was given up on."},
		},
		Suppress: []string{
			"These findings cannot be suppressed: write the reason, correct the rule, or take the directive away.",
		},
	}
}
