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
			"These options hold for every rule. They stand in `.idemlint.yml` at the root of the module, under the names below without " +
				"`idemlint.`, a list as `- VALUE` lines; the stand-alone command takes them as `-guards` and so on, and every rule has them as " +
				"flags of its own, as in `-dedupcheck.guards`, for drivers that set flags rule by rule. A function is named `PACKAGE.Func` or " +
				"`PACKAGE.Type.Method` (`PACKAGE.(*type).Method` where the type is not exported), a type `PACKAGE.Type`.",
		},
		Flags: []Flag{
			{"idemlint.guards", "functions that are the processed-event check."},
			{"idemlint.dedup-tables", "tables that remember which events have been handled, without their schema."},
			{"idemlint.messages", "types in which messages come. A field named Offset, Partition, Topic, Key, Value, Payload, Body, Data, Headers or " +
				"Timestamp is taken for that."},
			{"idemlint.handlers", "functions that get events, and interfaces whose every implementation does."},
			{"idemlint.clients", "what functions of a Kafka client do, as `FUNCTION=WHAT` or `FUNCTION=WHAT:ARGUMENT`, with the index of the " +
				"argument that is the message or the function, from 0 after the receiver. WHAT is `poll`, `autocommit` (reads, and commits what it " +
				"returned), `ack`, `nack`, `register` (the function is called with a message later), `each` (before the call returns), " +
				"`middleware`, `produce`, `effect` (any other) or `silent` (none)."},
			{"idemlint.money-words", "further words that say that money moves."},
			{"idemlint.event-ids", "further names of an event's id: of fields, parameters, keys of maps, headers."},
			{"idemlint.trust", "packages, with all below them, that are not looked into: they have no effect."},
			{"idemlint.skip", "packages, with all below them, in which nothing is reported."},
			{"idemlint.strict", "count writes that land on the same state when repeated as effects, too."},
			{"idemlint.tests", "report findings in `_test.go` files, too."},
			{"idemlint.debug", "say on standard error what was assumed, and what was given up on."},
		},
		Suppress: []string{
			"These findings cannot be suppressed: write the reason, correct the rule, or take the directive away.",
		},
	}
}
